"""The book's colours, one place for all figures: each for a light page, and its twin for a dark.

One colour a concept: amber for the first position and the query, teal for the second and the key,
red for positive and blue for negative numbers, ink for what is none of these. Each method has one
colour in every chapter, never amber or teal. Methods' colours are far apart for all eyes: who sees
no red or no green tells them by lightness, and by names, marks or dashes.
"""

import matplotlib as mpl
from matplotlib.colors import LinearSegmentedColormap

PALETTE = {  # name -> on light paper, on dark paper
    "ink": ("#1d2733", "#e6e9ed"),
    "blue": ("#2a6aa8", "#6cb2f0"),
    "amber": ("#b45309", "#fbb13c"),
    "teal": ("#0f766e", "#3fd0bd"),
    "violet": ("#6f2ab5", "#ac80ff"),
    "olive": ("#3a6b00", "#c9d36a"),
    "magenta": ("#b20485", "#ee5fc2"),
    "slate": ("#5a6b7c", "#9db2c6"),
    "red": ("#c0392b", "#ef6a7d"),
    "brown": ("#5c3a1c", "#efc3a4"),
    "grey": ("#6e6e6e", "#a3a3a3"),
}
CYCLE = ("ink", "amber", "teal", "violet", "olive", "magenta", "slate")
DARK = dict(PALETTE.values())
DARK |= {"#4f5760": "#b8bbbf", "#c8cacd": "#47494e"}  # labels and axes: 78 and 24 % of the ink
DARK |= {"#f7f7f7": "#1b1d22", "#9e9e9e": "#6d6c6b"}  # a clock's face and rim, as in live ones

_METHODS = {
    "none": "grey",
    "sinusoidal": "blue",
    "learned": "violet",
    "shaw": "brown",
    "transformer-xl": "magenta",
    "t5": "olive",
    "rope": "ink",
    "alibi": "red",
    "t5-beyond": "olive",
    "hybrid": "blue",  # sinusoids, and the bias of T5
    # RoPE, stretched
    "unscaled": "grey",
    "linear": "violet",
    "ntk": "blue",
    "dynamic ntk": "blue",
    "by parts": "ink",
    "yarn": "magenta",
}
_NAMES = {
    "shaw": "Shaw",
    "transformer-xl": "Transformer-XL",
    "t5": "T5",
    "t5-beyond": "T5, beyond",
    "rope": "RoPE",
    "alibi": "ALiBi",
    "ntk": "NTK",
    "dynamic ntk": "dynamic NTK",
    "yarn": "YaRN",
}
_ALIASES = {"sinusoid": "sinusoidal", "rotary": "rope"}

# Weights: from nearly the paper through amber to nearly the ink, on a light page and on a dark.
# Signed numbers: two ends, and a middle that is seen.
_STOPS = (
    ["#faf4ea", "#eecb9a", "#cc8a44", "#84481a", "#1a0c04"],
    ["#1d1a17", "#5f3c14", "#a8681e", "#fbb13c", "#fff1d6"],
)
WEIGHTS = LinearSegmentedColormap.from_list("posenc.weights", _STOPS[0])
DARK_WEIGHTS = LinearSegmentedColormap.from_list("posenc.weights.dark", _STOPS[1])
_SIGNS = {  # as in the palette; dark ones are less bright, or a large field glares
    "minus": ("#2a6aa8", "#4f8fc9"),
    "zero": ("#f7f5f1", "#2a2d33"),
    "plus": ("#c0392b", "#cf5163"),
}
SIGNED, DARK_SIGNED = (
    LinearSegmentedColormap.from_list(name, [both[side] for both in _SIGNS.values()])
    for side, name in enumerate(["posenc.signed", "posenc.signed.dark"])
)
for _colours in (WEIGHTS, SIGNED):
    mpl.colormaps.register(_colours, force=True)


def method_colour(label: str) -> str | None:
    """The colour on light paper of the method that a label begins with, None for other labels.

    Example:
        >>> method_colour("RoPE, judged at 64") == light("ink")
        True
        >>> method_colour("chance") is None
        True
    """
    name = _name_of(label)
    return name and light(name)


def method_name(label: str) -> str:
    """What readers call a method of `posenc.lab`; other labels stay as they are.

    Example:
        >>> [method_name(label) for label in ("rope", "none", "RoPE, judged at 64")]
        ['RoPE', 'none', 'RoPE, judged at 64']
    """
    return _NAMES.get(label, label)


def _name_of(label: str) -> str | None:
    whole = label.lower().partition(",")[0]
    word = whole.partition(" ")[0]
    return _METHODS.get(whole) or _METHODS.get(_ALIASES.get(word, word))


def looks(labels: list[str]) -> list[tuple[str, bool]]:
    """For each line its colour's name, and whether it is dashed, since an earlier one has it.

    Methods have their own colours; other lines take those that are left, in turn.
    """
    own = [_name_of(label) for label in labels]
    free = [name for name in CYCLE if name not in own] or list(CYCLE)
    taken: list[str] = []
    found = []
    for name in own:
        if name is None:
            name = free[sum(label is None for label in own[: len(found)]) % len(free)]
        found.append((name, name in taken))
        taken.append(name)
    return found


def light(name: str) -> str:
    """A colour of `PALETTE` on light paper, in which figures are drawn."""
    return PALETTE[name][0]


def variables() -> str:
    """The colours as custom properties of CSS, light and dark, for figures that move."""
    stops = {f"weight-{i}": both for i, both in enumerate(zip(*_STOPS, strict=True))}
    names = PALETTE | _SIGNS | stops
    bright, dark = (
        "; ".join(f"--{name}: {both[side]}" for name, both in names.items()) for side in (0, 1)
    )
    night = ':where(html[data-theme="dark"]) .live, .live:where([data-dark])'
    return f".live {{ {bright} }}\n{night} {{ {dark} }}\n"
