"""Attention weights of a sentence while its words change their order: each weight moves along."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch

from posenc.show.live.figure import LiveFigure, State
from posenc.show.live.heat import colour_key, weighed
from posenc.show.live.marks import (
    SENTENCE,
    controls,
    fixed,
    h,
    nearest,
    play,
    plot,
    quoted,
    require_place,
    slider,
)


def reordered(
    weights: torch.Tensor,
    orders: Mapping[str, Sequence[int]],
    words: Sequence[str] = SENTENCE,
    *,
    query: int = 0,
    key: int = 8,
) -> LiveFigure:
    """Attention weights in several orders of the words; one weight is followed.

    From one order to the next words change places with their neighbours, rows and columns with
    them, several pairs at a time.

    Args:
        weights: [n, n] from 0 to 1, a row for each query, in the order of `words`.
        orders: name -> places of the words as they stand then, such as [2, 0, 1].
        words: the sentence, at most 16 words.
        query: place of the word whose row is followed, in `words`.
        key: likewise, of its column.

    Returns:
        What a notebook displays.

    Raises:
        ValueError: if there are more than 16 words or fewer than two orders, `weights` has another
            shape or a number that is no weight, an order does not name each word once or is the
            one before it, or query or key is no place of a word.

    Example:
        >>> reordered(torch.eye(2), {"as told": [0, 1], "turned": [1, 0]}, ["a", "b"], key=1)
        live figure: reordered, order=0, i=0, j=1
    """
    words, n = list(words), len(words)
    if n > 16:
        raise ValueError(f"words must be at most 16, got {n}")
    if tuple(weights.shape) != (n, n):
        raise ValueError(f"weights must have shape ({n}, {n}), got {tuple(weights.shape)}")
    low, high = weights.min().item(), weights.max().item()
    if not 0 <= low <= high <= 1 or high == 0:
        raise ValueError(f"weights must be from 0 to 1, and not all 0, got {low:g} to {high:g}")
    if len(orders) < 2:
        raise ValueError(f"orders must be at least two, got {len(orders)}")
    for name, order in orders.items():
        if sorted(order) != list(range(n)):
            raise ValueError(f"orders must name each of {n} words once, {name!r} does not")
    rows = [list(order) for order in orders.values()]
    for before, after in pairwise(rows):
        if before == after:
            raise ValueError(f"orders must differ from the one before, got {after} twice")
    require_place("query", query, words)
    require_place("key", key, words)
    names = list(orders)
    path, named = _path(rows)
    places = [[order.index(word) for word in range(n)] for order in path]
    table = [[round(weight, 5) for weight in row] for row in weights.tolist()]

    def values(state: State) -> dict:
        i, j = nearest(state["i"]), nearest(state["j"])
        before = int(state["order"])
        first, last = named[before], named[min(before + 1, len(names) - 1)]
        step = first + (state["order"] - before) * (last - first)
        start = min(int(step), len(path) - 2)
        pair = zip(*places[start : start + 2], strict=True)
        at = [one + (step - start) * (other - one) for one, other in pair]
        here = places[nearest(step)]
        return {
            "x_at": [(place + 0.5) / n for place in at],
            "y_at": [(n - place - 0.5) / n for place in at],
            "i_on": [int(word == i) for word in range(n)],
            "j_on": [int(word == j) for word in range(n)],
            "row": n - 1 - at[i],
            "column": at[j],
            "weight": fixed(table[i][j], 3),
            "i_place": here[i],
            "j_place": here[j],
            "i_word": words[i],
            "j_word": words[j],
            "i_said": f"{words[i]} ({i})",
            "j_said": f"{words[j]} ({j})",
            "order_said": names[before] if before == state["order"] else "on the way",
        }

    def describe(state: State, values: dict) -> str:
        return (
            f"{values['order_said'].capitalize()}: from {quoted(values['i_word'])} in row "
            f"{values['i_place']} to {quoted(values['j_word'])} in column {values['j_place']} "
            f"the weight is {values['weight']}."
        )

    one = {"width": 1, "height": 1}
    shades = weights.detach().double().sqrt()[rows[0]][:, rows[0]]
    picture = plot(
        h("rect", **one | {"width": n}, class_="row p", data_set="--y:row"),
        h("rect", **one | {"height": n}, class_="column", data_set="--x:column"),
        h("rect", **one, class_="chosen", data_set="--x:column --y:row"),
        x=(0, n),
        y=(0, n),
        xticks={j + 0.5: word for j, word in enumerate(words)},
        yticks={n - 0.5 - i: word for i, word in enumerate(words)},
        xlabel="key",
        ylabel="query",
        height=f"{2.3 * n:g}em",
        under=weighed(shades),
        data_drag="cell",
        data_tip="cell",
    )
    for kind, place, hand in (("yticks", "y_at", "i_on"), ("xticks", "x_at", "j_on")):
        for word, mark in enumerate(picture.find(f"div[@class='{kind}']")):
            mark.set("data-set", f"--at:{place}.{word} --on:{hand}.{word}")
    return LiveFigure(
        "reordered",
        "Attention weights while the words change their order",
        picture,
        colour_key("weight, root scale", "0", "1", ramp="weights"),
        controls(
            play("order", speed=0.25),
            slider("order", "order", 0, len(names) - 1, said="order_said", rests=True),
            slider("i", "query", 0, n - 1, said="i_said", colour="p", whole=True),
            slider("j", "key", 0, n - 1, said="j_said", colour="q", whole=True),
        ),
        data={"words": words, "names": names, "named": named, "places": places, "table": table},
        state={"order": 0, "i": query, "j": key},
        values=values,
        describe=describe,
    )


def _path(orders: Sequence[list[int]]) -> tuple[list[list[int]], list[int]]:
    """A way through all orders on which words only change places with neighbours.

    Each step is a round of the odd-even transposition sort: pairs that do not touch.

    Returns:
        The orders on the way, and which of them are the given ones.

    Example:
        >>> _path([[0, 1, 2], [2, 1, 0]])
        ([[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0]], [0, 3])
    """
    path, named = [list(orders[0])], [0]
    for wanted in orders[1:]:
        n, parity = len(wanted), 0
        while path[-1] != wanted:
            words = list(path[-1])
            for left in range(parity, n - 1, 2):
                if wanted.index(words[left]) > wanted.index(words[left + 1]):
                    words[left : left + 2] = words[left + 1], words[left]
            parity = 1 - parity
            if words != path[-1]:
                path.append(words)
        named.append(len(path) - 1)
    return path, named
