"""A query's and a key's hand on each clock: RoPE's score pair by pair, and what training saw."""

import math
from xml.etree.ElementTree import Element

import torch
from torch import Tensor

from posenc import angles, inverse_frequencies, rotate, wavelengths
from posenc.show.live import dials
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import controls, fixed, h, path, place, play, slider


def query_key_clocks(
    query: Tensor | None = None,
    key: Tensor | None = None,
    *,
    dim: int = 16,
    base: float = 100.0,
    trained: int | None = None,
    longest: int = 48,
    distance: int = 5,
    scaled: Tensor | None = None,
) -> LiveFigure:
    """RoPE's score of a query and a key, one clock a channel pair.

    The bar under a clock is what the pair adds; their sum is the score. Given `trained`, an arc in
    the query's colour is where its hand could stand, seen from the key's, in a training on so many
    tokens. When it leaves the arc, the pair is at a turn that no training has shown.

    Args:
        query: [dim], channels 2i and 2i + 1 are a pair; ones and zeros by default.
        key: likewise.
        dim: channels, when query and key are not given.
        base: of `inverse_frequencies`.
        trained: tokens of a training text, so distances 0 ... trained - 1; no rings if None.
        longest: tokens of the longest text to move to.
        distance: query position minus key position, to begin with.
        scaled: other frequencies [dim/2], as `posenc.scaling` gives: a second row of clocks shows
            them, with the ring that training saw with the first.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if query, key and scaled do not fit together, or distance is not in the text.

    Example:
        >>> query_key_clocks(dim=8)
        live figure: query_key_clocks, d=5, n=0
    """
    plain = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(dim // 2)
    query = plain if query is None else query.detach().double()
    key = plain if key is None else key.detach().double()
    if query.ndim != 1 or query.shape != key.shape or len(query) % 2:
        raise ValueError(
            "query and key must have the same even number of channels, "
            f"got {tuple(query.shape)} and {tuple(key.shape)}"
        )
    if not 0 <= distance < longest or not (trained is None or 1 < trained <= longest):
        raise ValueError(
            "distance must be from 0 to longest - 1 and trained from 2 to longest, got "
            f"distance {distance}, trained {trained}, longest {longest}"
        )
    inv_freq = inverse_frequencies(len(query), base=base)
    rows = [inv_freq] if scaled is None else [inv_freq, scaled.detach().double()]
    if rows[-1].shape != inv_freq.shape:
        raise ValueError(f"scaled must have {len(inv_freq)} entries, got {tuple(rows[-1].shape)}")
    seen = math.inf if trained is None else trained - 1  # the largest distance in training
    width = (seen * inv_freq).clamp(max=2 * math.pi)
    most = (query.view(-1, 2).norm(dim=1) * key.view(-1, 2).norm(dim=1)).clamp(min=1e-9)  # a pair
    top = most.max()

    rest = [torch.atan2(x[1::2], x[::2]) for x in (query, key)]  # angles at position 0

    def one_row(at: Tensor, apart: float, speeds: Tensor) -> dict:
        turns = angles(at, speeds)
        turned = rotate(torch.stack((query, key)), turns, pairing="interleaved")
        parts = (turned[0] * turned[1]).view(-1, 2).sum(dim=1)
        beyond = (apart * speeds).remainder(2 * math.pi) > width + 1e-9
        return {
            "q": (rest[0] + turns[0]).tolist(),
            "k": (rest[1] + turns[1]).tolist(),
            "ring": (rest[0] + turns[1]).tolist(),  # from the query's hand at the key on
            "part": parts.tolist(),
            "bar": (parts / top).tolist(),
            "part_said": [fixed(part, 2) for part in parts.tolist()],
            "new": beyond.int().tolist(),
            "news": int(beyond.sum()),
            "score": parts.sum().item(),
            "score_said": fixed(parts.sum().item(), 2),
            "sum": (parts.sum() / most.sum()).item(),
        }

    def values(state: State) -> dict:
        at = torch.tensor([state["n"] + state["d"], state["n"]], dtype=torch.float64)
        said = place(state["d"])  # a turn is new at the distance that is told
        return {
            "rows": [one_row(at, float(said), speeds) for speeds in rows],
            "d_said": said,
            "n_said": place(state["n"]),
            "m_said": place(state["n"] + state["d"]),
        }

    def describe(state: State, values: dict) -> str:
        first, *others = values["rows"]
        said = (
            f"Query at {values['m_said']}, key at {values['n_said']}, distance "
            f"{values['d_said']}: the score is {first['score_said']}"
        )
        if trained is None:
            return f"{said}."
        return (
            said
            + _news(first["news"])
            + "".join(f" Stretched: {row['score_said']}{_news(row['news'])}" for row in others)
        )

    names = ["the clocks of training", "stretched clocks"] if scaled is not None else [""]
    legend = h(
        "div",
        h("span", f"turns seen in training ({trained} tokens)", class_="ring"),
        h("span", "not seen, and the hand is there", class_="ring not"),
        class_="legend",
        aria_hidden="true",
    )
    return LiveFigure(
        "query_key_clocks",
        "A query's and a key's hand on each clock, and the score they make",
        *([] if trained is None else [legend]),
        dials.speeds("tokens for one turn"),
        *(_row(r, name, rows[r], trained and width) for r, name in enumerate(names)),
        h(
            "div",
            _sums(["trained", "stretched"][: len(rows)], most.sum().item()),
            controls(
                play("d", speed=3),
                slider("d", "distance", 0, longest - 1, said="d_said", colour="p", rests=True),
                slider("n", "key's position", 0, longest - 1, said="n_said", rests=True),
            ),
            class_="foot",
        ),
        data={
            "inv_freq": rows[0].tolist(),
            "rows": [speeds.tolist() for speeds in rows],
            "query": query.tolist(),
            "key": key.tolist(),
            "width": width.tolist(),
            "top": top.item(),
            "most": most.sum().item(),
            "trained": trained,
        },
        state={"d": distance, "n": 0},
        values=values,
        describe=describe,
    )


def _news(count: int) -> str:
    if not count:
        return ", and training has seen every turn."
    return f", with {count} turn{'s' * (count > 1)} that training has not seen."


def _row(r: int, name: str, speeds: Tensor, width: Tensor | None) -> Element:
    """One clock a pair: the ring that training has seen, two hands, and what the pair adds."""
    clocks = []
    for i, wavelength in enumerate(wavelengths(speeds).tolist()):
        at = f"rows.{r}"
        rings = [] if width is None else _rings(width[i].item(), f"{at}.ring.{i}", f"{at}.new.{i}")
        bar = h("div", class_="bar", data_set=f"--v:{at}.bar.{i}", aria_hidden="true")
        said = h("span", data_set=f"text:{at}.part_said.{i}")
        clocks.append(
            dials.dial(
                i,
                *rings,
                dials.hand(f"{at}.k.{i}", "q"),
                dials.hand(f"{at}.q.{i}", "p"),
                above=[dials.period(wavelength, unit="")],
                below=[bar, said],
                drag=f"hand{r}.{i}",
            )
        )
    above = [h("p", name, class_="row-name")] if name else []
    return h("div", *above, dials.clock_row(clocks))


def _rings(width: float, start: str, new: str) -> list[Element]:
    """The turns that training has seen, and the rest of the rim, shown when the hand is there."""
    seen = h(
        "circle",
        r=40,
        pathLength=f"{2 * math.pi:.6f}",
        class_="wedge seen",
        style=f"--arc:{width:.5f}",
        data_set=f"--from:{start}",
    )
    if width >= 2 * math.pi:
        return [seen]
    r, large = dials.RADIUS, int(2 * math.pi - width > math.pi)
    begin = path([(r * math.sin(width), -r * math.cos(width))])
    rest = f"{begin}A{r} {r} 0 {large} 1 0 {-r}"
    return [seen, h("path", d=rest, class_="warn", data_set=f"--from:{start} --on:{new}")]


def _sums(names: list[str], most: float) -> Element:
    """The sum of each row's bars, all on one scale from the least to the most there could be."""
    end = fixed(most, 2)
    bars = [
        part
        for r, name in enumerate(names)
        for part in (
            h("span", name if len(names) > 1 else "sum of the bars, the score:"),
            h("b", data_set=f"text:rows.{r}.score_said"),
            h("span", class_="bar lying", data_set=f"--v:rows.{r}.sum"),
        )
    ]
    ends = h(
        "div", *(h("span", text) for text in (f"\N{MINUS SIGN}{end}", "0", end)), class_="ends"
    )
    title = [h("span", "sum of a row's bars, the score")] if len(names) > 1 else []
    both = " both" if len(names) > 1 else ""
    return h("div", *title, *bars, ends, class_=f"total{both}", aria_hidden="true")
