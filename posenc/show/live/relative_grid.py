"""Key minus query for all pairs of words: what is equal lies on a diagonal."""

from collections.abc import Sequence

import torch

from posenc import relative_positions
from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.marks import (
    SENTENCE,
    controls,
    fixed,
    h,
    nearest,
    plot,
    quoted,
    require_place,
    slider,
)


def relative_grid(
    words: Sequence[str] = SENTENCE, *, query: int = 4, key: int = 1, clip: int | None = None
) -> LiveFigure:
    """The relative position of every key to every query; equal ones are framed.

    Args:
        words: the sentence, at most 16 words.
        query: position to begin with.
        key: likewise.
        clip: farther ones count as this far, as Shaw's do; a slider moves it. All differ by
            default.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if query or key is not a position of the sentence, clip is out of range, or
            there are more than 16 words.

    Example:
        >>> relative_grid()
        live figure: relative_grid, i=4, j=1, clip=11
    """
    words, last = list(words), len(words) - 1
    if len(words) > 16:
        raise ValueError(f"words must be at most 16, got {len(words)}")
    require_place("query", query, words)
    require_place("key", key, words)
    clip = last if clip is None else clip
    if not 1 <= clip <= last:
        raise ValueError(f"clip must be from 1 to {last}, got {clip}")
    here = torch.arange(len(words))
    table = relative_positions(here, here)

    def values(state: State) -> dict:
        i, j, c = (nearest(state[name]) for name in ("i", "j", "clip"))
        clipped = table.clamp(-c, c)
        same = clipped == clipped[i, j]
        return {
            "cell": (0.6 * clipped.double() / last).flatten().tolist(),
            "said_of": [fixed(value, 0) for value in clipped.flatten().tolist()],
            "frames": "".join(
                f"M{n % len(words)} {last - n // len(words)}h1v1h-1z"
                for n in same.flatten().nonzero().flatten().tolist()
            ),
            "row": last - i,
            "column": j,
            "i_on": [int(n == i) for n in range(len(words))],
            "j_on": [int(n == j) for n in range(len(words))],
            "relative": clipped[i, j].item(),
            "relative_said": fixed(clipped[i, j].item(), 0),
            "true_said": fixed(j - i, 0),
            "count": int(same.sum()),
            "kinds": len(clipped.unique()),
            "query": words[i],
            "key": words[j],
            "i_said": str(i),
            "j_said": str(j),
            "clip_said": str(c),
        }

    def describe(state: State, values: dict) -> str:
        relative, told = values["true_said"], values["relative_said"]
        told = relative if told == relative else f"{relative}, told as {told}"
        return (
            f"From {quoted(values['query'])} at "
            f"{values['i_said']} to {quoted(values['key'])} at "
            f"{values['j_said']}: {told}, as in {values['count']} cells. "
            f"There are {values['kinds']} different relative positions."
        )

    cells, texts = [], []
    for i in range(len(words)):
        for j in range(len(words)):
            n, y = i * len(words) + j, last - i
            look = {"x": j, "y": y, "width": 1, "height": 1}
            cells.append(h("rect", **look, class_="cell", data_set=f"--v:cell.{n}"))
            where = f"--x:{j + 0.5};--y:{y + 0.5}"
            texts.append(
                h(
                    "span",
                    class_="inside",
                    style=where,
                    data_set=f"text:said_of.{n}",
                    aria_hidden="true",
                )
            )
    one = {"width": 1, "height": 1}
    picture = plot(
        *cells,
        h("path", class_="frames", data_set="d:frames"),  # above all cells: none covers a part
        h("rect", **one | {"width": len(words)}, class_="row p", data_set="--y:row"),
        h("rect", **one | {"height": len(words)}, class_="column", data_set="--x:column"),
        h("rect", **one, class_="chosen", data_set="--x:column --y:row"),
        x=(0, len(words)),
        y=(0, len(words)),
        xticks={j + 0.5: word for j, word in enumerate(words)},
        yticks={last - i + 0.5: word for i, word in enumerate(words)},
        xlabel="key",
        ylabel="query",
        height=f"{2.3 * len(words):g}em",
        over=texts,
        data_drag="cell",
        data_tip="cell",
    )
    for kind, hand in {"yticks": "i_on", "xticks": "j_on"}.items():
        for n, word in enumerate(picture.find(f"div[@class='{kind}']")):
            word.set("data-set", f"--on:{hand}.{n}")
    return LiveFigure(
        "relative_grid",
        "Relative positions of all keys to all queries",
        picture,
        controls(
            slider("i", "query", 0, last, said="i_said", colour="p"),
            slider("j", "key", 0, last, said="j_said", colour="q"),
            slider("clip", "farthest told apart", 1, last, said="clip_said"),
        ),
        data={"words": words},
        state={"i": query, "j": key, "clip": clip},
        values=values,
        describe=describe,
    )
