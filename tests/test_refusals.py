"""What posenc refuses, and how: the argument, the rule and the value are named."""

import inspect
import re
from functools import partial
from itertools import cycle

import numpy as np
import pytest
import torch
from torch import nn

import posenc
from posenc import (
    LearnedEncoding,
    ShawRelative,
    T5RelativeBias,
    TransformerXLRelative,
    alibi_bias,
    alibi_slopes,
    angles,
    attention,
    axial_angles,
    axial_frequencies,
    causal_mask,
    diagonals,
    dynamic_ntk_scaling,
    inverse_frequencies,
    linear_scaling,
    llama3_scaling,
    longrope_scaling,
    mrope_axes,
    ntk_scaling,
    parts_scaling,
    phasors,
    proportional_scaling,
    query_gain,
    relative_attention,
    relative_positions,
    report_card,
    rotate,
    shift_matrix,
    sinusoidal_encoding,
    skew,
    t5_buckets,
    tensor2tensor_encoding,
    toeplitz,
    wavelengths,
    yarn_gain,
    yarn_scaling,
)

pytestmark = pytest.mark.usefixtures("annotations_off")

NAN, INF = torch.nan, torch.inf
P = torch.arange(3)
WRAPPED = torch.tensor([254, 255, 0, 1], dtype=torch.uint8)
FREQUENCIES = torch.tensor([1.0, 0.1], dtype=torch.float64)
CAUSAL = {"causal": True}
HEADS = torch.ones(2, 3, 4)  # 2 heads, 3 rows, 4 channels
THREE = torch.ones(3, 3, 4)  # heads that 2 cannot share
SLOPES = alibi_slopes(2)
LEARNED, T5 = LearnedEncoding(4, 2), T5RelativeBias(2)
SHAW, XL = ShawRelative(4, max_distance=2), TransformerXLRelative(2, 4, 6)


def row(error, message, owner, call):
    name = getattr(owner, "__name__", type(owner).__name__)
    return pytest.param(error, message, owner, call, id=f"{name}: {message}")


def refuse(error, message, function, *args, **kwargs):
    return row(error, message, function, partial(function, *args, **kwargs))


def counts(name, owner, call, *, even=False):
    """What no `call(count)` takes for a count of that name."""
    bad = [(ValueError, "positive", 0), (ValueError, "positive", -4)]
    bad += [(TypeError, "an int", True), (TypeError, "an int", 4.0)]
    bad += [(ValueError, "positive and even", 3)] * even
    return [
        row(error, f"{name} must be {rule}, got {value}", owner, partial(call, value))
        for error, rule, value in bad
    ]


def bases(owner, call):
    """What no `call(base)` takes."""
    return [
        row(ValueError, f"base must be a finite number above 1, got {x}", owner, partial(call, x))
        for x in (1.0, 0.0, -10.0, NAN, INF)
    ]


def positions(name, owner, call, *, floats=True):
    """What no `call(positions)` takes for positions of that name."""
    kind = f"{name} must have an integer or float dtype, got torch"
    bad = [
        (ValueError, f"{name} must not be empty, got shape (0,)", P[:0]),
        (TypeError, f"{kind}.bool", P > 0),
        (TypeError, f"{kind}.complex64", P * 1j),
        (TypeError, f"{name} must be a tensor, got list", [0, 1, 2]),
    ]
    if floats:
        exact = f"{name} must be integers, float32 or float64 to be exact, got torch"
        bad += [(TypeError, f"{exact}.bfloat16", P.bfloat16())]
        bad += [(TypeError, f"{exact}.float16", P.half())]
        bad += [(ValueError, f"{name} must be finite, got nan", P / 0)]
        bad += [(ValueError, f"{name} must be finite, got -inf", P - INF)]
    return [row(error, message, owner, partial(call, value)) for error, message, value in bad]


def frequencies(owner, call):
    """What no `call(inv_freq)` takes."""
    bad = [
        (TypeError, "inv_freq must be a tensor, got ndarray", FREQUENCIES.numpy()),
        (TypeError, "inv_freq must be float64, got torch.float32", FREQUENCIES.float()),
        (ValueError, "inv_freq must have shape [dim/2], got (1, 2)", FREQUENCIES[None]),
        (ValueError, "inv_freq must have shape [dim/2], got (0,)", FREQUENCIES[:0]),
        (
            ValueError,
            "inv_freq must be finite, got nan",
            torch.tensor([1.0, NAN], dtype=torch.float64),
        ),
        (ValueError, "inv_freq must be finite, got inf", FREQUENCIES * INF),
    ]
    return [row(error, message, owner, partial(call, value)) for error, message, value in bad]


def deviations(owner, call):
    """What no `call(std)` takes."""
    return [
        row(ValueError, f"std must be finite and not negative, got {x}", owner, partial(call, x))
        for x in (-0.1, NAN, INF)
    ]


def choices(name, function, allowed, *args, **kwargs):
    rule = f"{name} must be one of {allowed}, got "
    return [
        refuse(ValueError, f"{rule}{bad!r}", function, *args, **{**kwargs, name: bad})
        for bad in ("Half", "")
    ]


def float_dtypes(function, *args):
    return [
        refuse(
            TypeError,
            f"dtype must be a floating-point dtype, got {bad}",
            function,
            *args,
            dtype=bad,
        )
        for bad in (torch.int64, torch.complex64)
    ] + [
        refuse(
            TypeError,
            "dtype must be a floating-point dtype of at least 16 bits, got torch.float8_e5m2",
            function,
            *args,
            dtype=torch.float8_e5m2,
        )
    ]


FREQUENCY_ROWS = [
    *counts("dim", inverse_frequencies, inverse_frequencies, even=True),
    *bases(inverse_frequencies, lambda base: inverse_frequencies(4, base=base)),
    refuse(ValueError, "inv_freq must be positive, got 0.0", wavelengths, FREQUENCIES * 0),
    refuse(ValueError, "inv_freq must be positive, got -1.0", wavelengths, -FREQUENCIES),
    *frequencies(wavelengths, wavelengths),
    *positions("positions", angles, lambda p: angles(p, FREQUENCIES)),
    *frequencies(angles, lambda inv_freq: angles(P, inv_freq)),
    refuse(TypeError, "angles must be float64, got torch.float32", phasors, torch.ones(2)),
    refuse(TypeError, "angles must be a tensor, got ndarray", phasors, np.ones(2)),
    *(
        refuse(
            ValueError, f"gain must be finite and positive, got {g}", phasors, FREQUENCIES, gain=g
        )
        for g in (0.0, -1.5, NAN, INF)
    ),
    *(
        refuse(
            TypeError,
            f"dtype must be torch.complex64 or torch.complex128, got {dtype}",
            phasors,
            FREQUENCIES,
            dtype=dtype,
        )
        for dtype in (torch.float32, torch.complex32)
    ),
]


def table_rows(encode):
    return [
        *counts("dim", encode, lambda dim: encode(P, dim), even=True),
        *bases(encode, lambda base: encode(P, 4, base=base)),
        *positions("positions", encode, lambda p: encode(p, 4)),
        *float_dtypes(encode, P, 4),
    ]


SINUSOIDAL_ROWS = [
    *table_rows(sinusoidal_encoding),
    *table_rows(tensor2tensor_encoding),
    *choices("layout", sinusoidal_encoding, ("interleaved", "half"), P, 4),
    refuse(ValueError, "offset must be finite, got nan", shift_matrix, NAN, FREQUENCIES),
    refuse(ValueError, "offset must be finite, got -inf", shift_matrix, -INF, FREQUENCIES),
    *frequencies(shift_matrix, partial(shift_matrix, 1)),
]

LEARNED_ROWS = [
    *counts("num_positions", LearnedEncoding, lambda n: LearnedEncoding(n, 2)),
    *counts("dim", LearnedEncoding, lambda dim: LearnedEncoding(2, dim)),
    *deviations(LearnedEncoding, lambda std: LearnedEncoding(2, 2, std=std)),
    *positions("positions", LEARNED, LEARNED, floats=False),
    refuse(TypeError, "positions must be integers, got torch.float32", LEARNED, P / 1),
    refuse(IndexError, "positions must not be negative, got -1", LEARNED, P - 1),
    refuse(IndexError, "positions must be below 4, got 4", LEARNED, P + 2),
    refuse(IndexError, "positions must be below 3, got 9", LearnedEncoding(3, 2), P + 7),
]

ALIBI_ROWS = [
    *counts("num_heads", alibi_slopes, alibi_slopes),
    refuse(TypeError, "slopes must have a floating-point dtype, got torch.int64", alibi_bias, P, P),
    refuse(TypeError, "slopes must be a tensor, got list", alibi_bias, [0.5, 0.25], P),
    *(
        refuse(
            ValueError,
            f"slopes must have shape [num_heads], got {shape}",
            alibi_bias,
            torch.ones(shape),
            P,
        )
        for shape in ((2, 2), (0,), ())
    ),
    *(
        refuse(
            ValueError,
            f"slopes must be finite and not negative, got [1.0, {slope}]",
            alibi_bias,
            torch.tensor([1.0, slope]),
            P,
        )
        for slope in (-0.5, NAN, INF)
    ),
    *positions("relative", alibi_bias, partial(alibi_bias, SLOPES)),
    *float_dtypes(alibi_bias, SLOPES, P),
]


def pair_rows(pairwise, *, floats=True):
    return [
        *positions("query_positions", pairwise, lambda p: pairwise(p, P), floats=floats),
        *positions("key_positions", pairwise, lambda p: pairwise(P, p), floats=floats),
    ]


def consecutive_rows(bad):
    positions, found = bad
    rule = f"must be consecutive and 1-D, got {found}"
    return [
        refuse(ValueError, f"query_positions {rule}", diagonals, torch.tensor(positions), P),
        refuse(ValueError, f"key_positions {rule}", diagonals, P, torch.tensor(positions)),
    ]


BROKEN_RUNS = [
    ([0, 2], "[0, 2] at 0"),
    ([1, 0], "[1, 0] at 0"),
    ([5, 6, 6, 7], "[6, 6] at 1"),
    ([[0, 1]], "shape (1, 2)"),
]


def t5_rows(message, **settings):
    """Refused by the function, and by the module when it is made."""
    return [
        refuse(ValueError, message, t5_buckets, P, **settings),
        refuse(ValueError, message, T5RelativeBias, 2, **settings),
    ]


def layer_rows(
    message,
    *,
    error=ValueError,
    by=(SHAW, XL),
    q=HEADS,
    k=HEADS,
    v=HEADS,
    rows=P,
    columns=P,
    **mask,
):
    return [refuse(error, message, layer, q, k, v, rows, columns, **mask) for layer in by]


RELATIVE_ROWS = [
    refuse(TypeError, "max_distance must be an int, got nan", t5_buckets, P, max_distance=NAN),
    refuse(ValueError, "max_distance must be positive, got -128", t5_buckets, P, max_distance=-128),
    refuse(
        ValueError,
        "q must have a head axis, [..., h, q, d], got shape (3, 4)",
        *(relative_attention, *(3 * [HEADS[0]]), T5, P, P),
        causal=True,
    ),
    *pair_rows(causal_mask),
    *pair_rows(relative_positions),
    *pair_rows(diagonals, floats=False),
    *(one for bad in BROKEN_RUNS for one in consecutive_rows(bad)),
    *(
        refuse(
            ValueError, f"{name} must be consecutive and 1-D, got [255, 0] at 1", diagonals, *both
        )
        for name, both in (("query_positions", (WRAPPED, P)), ("key_positions", (P, WRAPPED)))
    ),
    refuse(TypeError, "key_positions must be integers, got torch.float32", diagonals, P, P / 1),
    *deviations(T5RelativeBias, lambda std: T5RelativeBias(2, std=std)),
    *deviations(ShawRelative, lambda std: ShawRelative(4, max_distance=2, std=std)),
    *deviations(TransformerXLRelative, lambda std: TransformerXLRelative(2, 4, 6, std=std)),
    *counts("num_queries", toeplitz, partial(toeplitz, torch.ones(5))),
    refuse(ValueError, "num_queries must not exceed the 3 diagonals, got 4", toeplitz, P / 1, 4),
    refuse(
        ValueError,
        "the number of queries must not exceed the 3 diagonals, got 4",
        skew,
        torch.ones(4, 3),
    ),
    *positions("relative", t5_buckets, t5_buckets, floats=False),
    *positions("relative", T5, T5, floats=False),
    refuse(TypeError, "relative must be integers, got torch.float32", t5_buckets, P / 1),
    refuse(TypeError, "relative must be integers, got torch.float32", T5, P / 1),
    *counts("num_buckets", t5_buckets, lambda n: t5_buckets(P, num_buckets=n), even=True),
    *counts("num_buckets", T5RelativeBias, lambda n: T5RelativeBias(2, num_buckets=n), even=True),
    *counts("num_heads", T5RelativeBias, T5RelativeBias),
    *t5_rows("num_buckets must be at least 4, got 2", num_buckets=2),
    *t5_rows("num_buckets must be at least 2, got 1", num_buckets=1, bidirectional=False),
    *t5_rows("max_distance must be above 8, got 8", max_distance=8),
    *t5_rows("max_distance must be above 16, got 9", max_distance=9, bidirectional=False),
    *counts("head_dim", ShawRelative, lambda d: ShawRelative(d, max_distance=2)),
    *counts("max_distance", ShawRelative, lambda m: ShawRelative(4, max_distance=m)),
    *(
        refuse(error, message, ShawRelative, 4, max_distance=2, max_ahead=bad)
        for error, message, bad in (
            (ValueError, "max_ahead must not be negative, got -1", -1),
            (TypeError, "max_ahead must be an int, got False", False),
            (TypeError, "max_ahead must be an int, got 1.5", 1.5),
        )
    ),
    *counts("num_heads", TransformerXLRelative, lambda h: TransformerXLRelative(h, 4, 6)),
    *counts("head_dim", TransformerXLRelative, lambda d: TransformerXLRelative(2, d, 6)),
    *counts("dim", TransformerXLRelative, lambda n: TransformerXLRelative(2, 4, n), even=True),
    *bases(TransformerXLRelative, lambda base: TransformerXLRelative(2, 4, 6, base=base)),
    *layer_rows("query_positions must name all 3 rows, got 2", rows=P[:2]),
    *layer_rows("key_positions must name all 3 rows, got 2", columns=P[:2]),
    *layer_rows("key_positions must be consecutive and 1-D, got [0, 2] at 0", columns=2 * P),
    *layer_rows("v must have one row for each of 3 keys, got 1", v=HEADS[:, :1]),
    *layer_rows("k must have the 4 channels of q, got 1", k=HEADS[..., :1]),
    *layer_rows("k must have the leading axes (2,) of q, got (3,)", k=THREE),
    *layer_rows(
        "mask must be boolean, True where a query may look, got torch.float32",
        error=TypeError,
        mask=torch.ones(3, 3),
    ),
    *(
        refuse(error, message, layer.outputs, *(3 * [HEADS]), P, keys, **options)
        for layer in (SHAW, XL)
        for error, message, keys, options in (
            (ValueError, "query_positions must not start before key 1, got 0", P + 1, CAUSAL),
            (ValueError, "block_size must be positive, got 0", P, CAUSAL | {"block_size": 0}),
            (TypeError, "block_size must be an int, got 8.0", P, CAUSAL | {"block_size": 8.0}),
        )
    ),
    *layer_rows("q must have 4 channels, got 3", by=[SHAW], q=HEADS[..., :3], k=HEADS[..., :3]),
    *layer_rows("v must have 4 channels, got 1", by=[SHAW], v=HEADS[..., :1]),
    *(
        one
        for q in (HEADS[:1], HEADS[..., :3], HEADS[0])
        for one in layer_rows(
            f"q must have heads and channels (2, 4), got shape {tuple(q.shape)}", by=[XL], q=q, k=q
        )
    ),
]


def blockwise(message, *, error=ValueError, k=HEADS, bias=None, rows=P, columns=P, **options):
    bias = bias or partial(alibi_bias, SLOPES)
    options = {"causal": True, **options}
    return refuse(error, message, relative_attention, HEADS, k, k, bias, rows, columns, **options)


def attend(message, *, error=ValueError, k=HEADS, v=HEADS, **options):
    return refuse(error, message, attention, HEADS, k, v, **options)


def per_score(name, *shape, dtype=torch.bool):
    """A bias or mask that does not fit 2 heads, 3 queries and 4 keys."""
    rule = f"{name} must end in [q, k] = [3, 4] and broadcast to [2, 3, 4], got {list(shape)}"
    k = torch.ones(2, 4, 4)
    return attend(rule, k=k, v=k, **{name: torch.ones(shape, dtype=dtype)})


SHAPES = [(4,), (2,), (2, 1, 1), (1, 4), (3, 1), (4, 3), (3, 3, 4), (1, 2, 3, 4), ()]
ATTENTION_ROWS = [
    attend(
        "bias must leave each query a score, got none at [0, 1]",
        bias=torch.tensor([0.0, -INF, 0.0])[:, None].expand(3, 3),
    ),
    blockwise("k must have the 4 channels of q, got 1", k=HEADS[..., :1]),
    blockwise("k must have the leading axes (2,) of q, got (3,)", k=THREE),
    blockwise("query_positions must name all 3 rows, got 1", rows=P[2:]),
    blockwise("key_positions must name all 3 rows, got 2", columns=P[:2]),
    blockwise("query_positions must be consecutive and 1-D, got [0, 2] at 0", rows=2 * P),
    blockwise("query_positions must not start before key 1, got 0", columns=P + 1),
    blockwise("bias must return shape (2, 5), got (3, 5)", bias=lambda r: r.expand(3, -1) / 1),
    blockwise("bias must return shape (2, 5), got (5,)", bias=lambda r: r / 1, causal=False),
    *(
        blockwise(f"negligible must be between 0 and 1, got {x}", negligible=x)
        for x in (0.0, 1.0, -0.5, NAN)
    ),
    *counts(
        "block_size",
        relative_attention,
        lambda size: blockwise("", block_size=size).values[3](),
    ),
    *(
        attend(f"{name} must have a floating-point dtype, got torch.int64", error=TypeError, **bad)
        for name, bad in (("k", {"k": HEADS.long()}), ("v", {"v": HEADS.long()}))
    ),
    refuse(
        TypeError,
        "q must have a floating-point dtype, got torch.int64",
        *(attention, *(3 * [HEADS.long()])),
    ),
    attend("v must be a tensor, got list", error=TypeError, v=[[1.0]]),
    attend("v must have shape [..., rows, channels], got (4,)", v=HEADS[0, 0]),
    attend(
        "bias must have a floating-point dtype, got torch.bool",
        error=TypeError,
        bias=torch.ones(3, 3, dtype=torch.bool),
    ),
    attend(
        "k must have the leading axes (2,) of q, got (1,); "
        "for grouped queries call repeat_interleave(2, dim=-3)",
        k=HEADS[:1],
    ),
    attend("k must have the 4 channels of q, got 1", k=HEADS[..., :1]),
    attend("v must have one row for each of 3 keys, got 1", v=HEADS[:, :1]),
    attend("k must have the leading axes (2,) of q, got (3,)", k=THREE),
    attend("v must have the leading axes (2,) of q, got ()", v=HEADS[0]),
    *(per_score("bias", *shape, dtype=torch.float32) for shape in SHAPES),
    *(per_score("mask", *shape) for shape in SHAPES),
    *(
        attend(
            f"mask must be boolean, True where a query may look, got {dtype}",
            error=TypeError,
            mask=torch.ones(3, 3, dtype=dtype),
        )
        for dtype in (torch.float32, torch.int64)
    ),
    attend(
        "mask must allow each query a key, got none at [1]", mask=(P != 1)[:, None].expand(3, 3)
    ),
    attend(
        "mask must allow each query a key, got none at [1, 2]",
        mask=torch.arange(18).reshape(2, 3, 3) < 15,
    ),
]


def turn(message, *, error=ValueError, x=(3, 8), rotation=(3, 4), pairing="half", **options):
    """A rotation of ones: shapes stand for float32 x and float64 angles."""
    x = torch.ones(x) if isinstance(x, tuple) else x
    if isinstance(rotation, tuple):
        rotation = torch.ones(rotation, dtype=torch.float64)
    return refuse(error, message, rotate, x, rotation, pairing=pairing, **options)


X, RADIANS = torch.ones(3, 8), torch.ones(3, 4, dtype=torch.float64)
ROTARY_ROWS = [
    *choices("pairing", rotate, ("interleaved", "half"), X, RADIANS),
    turn("x must have a floating-point dtype, got torch.int64", error=TypeError, x=X.long()),
    turn("x must have a floating-point dtype, got torch.complex64", error=TypeError, x=X * 1j),
    turn("the number of channels of x must be positive and even, got 7", x=(3, 7)),
    *counts(
        "rotary_dim",
        rotate,
        lambda n: rotate(X, RADIANS, pairing="half", rotary_dim=n),
        even=True,
    ),
    turn("rotary_dim must not exceed the 8 channels of x, got 10", x=(2, 3, 8), rotary_dim=10),
    turn("rotation must hold 4 pairs to rotate 8 channels, got 3", rotation=(3, 3)),
    turn("rotation must hold 2 pairs to rotate 4 channels, got 4", rotary_dim=4),
    *(
        turn(
            f"rotation must have axes like the {rows} of x{or_one}, got {turns}",
            x=(*rows, 8),
            rotation=(*turns, 4),
        )
        for rows, turns, or_one in (
            ((3,), (1,), ""),  # one row for many positions
            ((3,), (), ""),
            ((2, 3), (1,), " or (3,)"),
            ((3,), (2,), ""),
            ((2, 3), (2,), " or (3,)"),
            ((2, 3), (3, 3), " or (3,)"),
            ((3,), (2, 3), ""),  # would enlarge x
            ((2, 1), (2, 3), " or (1,)"),
            ((2, 2, 3), (2, 2, 2, 3), " or (3,)"),
            ((3, 3, 3), (3, 3), " or (3,)"),  # a row each for 3 sequences, or for 3 heads?
            ((3, 3, 3), (3, 1), " or (3,)"),
        )
    ),
    turn(
        "rotation must have axes like the (2, 5, 3) of x or (5,), got (3,)",
        x=(2, 5, 3, 8),
        axis=1,
    ),
    *(
        turn(f"axis must be one of the 1 axes of rows of x, got {axis}", axis=axis)
        for axis in (-1, 1, 2, -3)
    ),
    refuse(TypeError, "rotation must be a tensor, got tuple", rotate, X, (X, X), pairing="half"),
    refuse(
        TypeError, "x must be a tensor, got ndarray", rotate, X.numpy(), RADIANS, pairing="half"
    ),
    turn(
        "x must have a floating-point dtype of at least 16 bits, got torch.float8_e4m3fn",
        error=TypeError,
        x=X.to(torch.float8_e4m3fn),
    ),
    *choices("pairing_out", rotate, ("interleaved", "half"), X, RADIANS, pairing="half"),
    turn(
        "rotation must hold 4 pairs to rotate 8 channels, got a single number",
        rotation=RADIANS[0, 0],
    ),
    turn(
        "rotation must be float64 angles or complex, got torch.float32",
        error=TypeError,
        rotation=RADIANS.float(),
    ),
    turn(
        "rotation must be complex128 to rotate float64, got torch.complex64",
        error=TypeError,
        x=X.double(),
        rotation=phasors(RADIANS),
    ),
]


SETTINGS = {"factor": 2, "trained_length": 8}
LONGROPE = {"short_factors": FREQUENCIES, "long_factors": FREQUENCIES, "length": 9, **SETTINGS}
SCALINGS = [  # each with options that it takes
    (linear_scaling, {"factor": 2}),
    (ntk_scaling, {"factor": 2}),
    (dynamic_ntk_scaling, {"length": 9, **SETTINGS}),
    (parts_scaling, SETTINGS),
    (llama3_scaling, {}),
    (yarn_scaling, {"ramp": "rotations", **SETTINGS}),
    (longrope_scaling, LONGROPE),
    (proportional_scaling, {"share": 0.5}),
]


def setting(message, function, error=ValueError, **bad):
    return refuse(error, message, function, FREQUENCIES, **dict(SCALINGS)[function] | bad)


def scaling_rows(function, options):
    """What no method of stretching takes, of the settings that it has."""

    def call(inv_freq=FREQUENCIES, **bad):
        return function(inv_freq, **options | bad)

    negative = partial(call, -FREQUENCIES)
    rows = [
        *frequencies(function, call),
        row(ValueError, "inv_freq must not be negative, got -1.0", function, negative),
    ]
    settings = inspect.signature(function).parameters
    for name in ("length", "trained_length"):
        if name in settings:
            rows += counts(name, function, lambda n, name=name: call(**{name: n}))
    if "factor" in settings:
        rows += factor_rows(function, lambda x: call(factor=x))
    return rows


def factor_rows(owner, call):
    return [
        row(ValueError, f"factor must be finite and at least 1, got {x}", owner, partial(call, x))
        for x in (0.5, -1, NAN, INF)
    ]


def factors_rows(name):
    rule = f"{name} must be 2 positive numbers, one a pair, got "
    return [
        setting(f"{rule}{bad.tolist()}", longrope_scaling, **{name: bad})
        for bad in (FREQUENCIES[:1], 0 * FREQUENCIES, -FREQUENCIES, FREQUENCIES / 0)
    ] + [
        setting(f"{name} must be a tensor, got list", longrope_scaling, TypeError, **{name: [1, 2]})
    ]


UNEVEN = torch.tensor([1.0, 0.1, 0.01, 0.001], dtype=torch.float64)
SCALING_ROWS = [
    *(each for function, options in SCALINGS for each in scaling_rows(function, options)),
    *factor_rows(yarn_gain, yarn_gain),
    *(
        refuse(
            ValueError, "inv_freq must be 2 or more, got 1", function, FREQUENCIES[:1], **options
        )
        for function, options in [
            (ntk_scaling, {"factor": 2}),
            (yarn_scaling, {"ramp": "dimensions", **SETTINGS}),
        ]
    ),
    *(
        setting(
            f"slow and fast must be 0 <= slow < fast, got {slow} and {fast}",
            function,
            slow=slow,
            fast=fast,
        )
        for function in (parts_scaling, llama3_scaling, yarn_scaling)
        for slow, fast in ((4, 2), (2, 2), (1, INF), (-1, 2), (NAN, 2))
    ),
    *choices("ramp", yarn_scaling, ("rotations", "dimensions"), FREQUENCIES, **SETTINGS),
    setting(
        "slow must be above 0 for a ramp over dimensions, got 0",
        yarn_scaling,
        slow=0,
        ramp="dimensions",
    ),
    *(
        setting(f"gain must be positive and finite, got {gain}", function, gain=gain)
        for function in (yarn_scaling, longrope_scaling)
        for gain in (0, -1, NAN, INF)
    ),
    *(
        refuse(
            ValueError,
            "inv_freq must fall by one ratio from pair to pair for a ramp over dimensions",
            yarn_scaling,
            bad,
            ramp="dimensions",
            **SETTINGS,
        )
        for bad in (
            UNEVEN.flip(0),
            torch.ones_like(UNEVEN),
            UNEVEN**2 / 4 + UNEVEN,
            UNEVEN * torch.tensor([1, 1, 1 + 3e-5, 1]),
        )
    ),
    *factors_rows("short_factors"),
    *factors_rows("long_factors"),
    setting("trained_length must be above 1, got 1", longrope_scaling, trained_length=1),
    *(
        setting(f"share must be within [0, 1], got {share}", proportional_scaling, share=share)
        for share in (-0.5, 1.5, NAN)
    ),
    *(
        refuse(
            ValueError,
            f"{name} must be finite and not negative, got {x}",
            yarn_gain,
            2,
            **{name: x},
        )
        for name in ("mscale", "mscale_all_dim")
        for x in (-1, NAN, INF)
    ),
    *positions("positions", query_gain, query_gain),
    *counts("length", query_gain, lambda length: query_gain(P, length=length)),
    *(
        refuse(ValueError, f"scale must be finite, got {scale}", query_gain, P, scale=scale)
        for scale in (NAN, INF)
    ),
    refuse(ValueError, "positions must not be below -1, got -2", query_gain, P - 2),
    refuse(ValueError, "positions must not be below 0, got -2", query_gain, P - 2, first=0),
]

PLACES, AXIS = P[:, None] + torch.arange(2), torch.arange(2)


def axis_row(message, axis, *, error=ValueError, places=PLACES):
    return refuse(error, f"axis must {message}", axial_angles, places, FREQUENCIES, axis)


AXIAL_ROWS = [
    *counts("dim", axial_frequencies, axial_frequencies),
    *counts("axes", axial_frequencies, lambda axes: axial_frequencies(8, axes=axes)),
    *bases(axial_frequencies, lambda base: axial_frequencies(8, base=base)),
    *(
        refuse(
            ValueError,
            f"dim must be a multiple of 2 axes = {2 * axes}, got {dim}",
            axial_frequencies,
            dim,
            axes=axes,
        )
        for dim, axes in ((8, 3), (6, 2), (3, 1))
    ),
    *positions("positions", axial_angles, lambda p: axial_angles(p, FREQUENCIES, AXIS)),
    *frequencies(axial_angles, lambda inv_freq: axial_angles(PLACES, inv_freq, AXIS)),
    axis_row("be a tensor, got list", [0, 1], error=TypeError),
    axis_row("be int64, got torch.float32", AXIS / 1, error=TypeError),
    axis_row("name one coordinate for each of 2 pairs, got shape (3,)", P),
    axis_row("name one coordinate for each of 2 pairs, got shape (1, 2)", AXIS[None]),
    axis_row("be within 0 ... 1, got [1, 2]", AXIS + 1),
    axis_row("be within 0 ... 1, got [-1, 0]", AXIS - 1),
    axis_row("be within 0 ... -1, got [0, 1]", AXIS, places=torch.tensor(3)),
    *counts("sections", mrope_axes, lambda n: mrope_axes([4, n, 4], interleaved=False)),
    *(
        refuse(
            ValueError,
            f"sections must be three, time, rows and columns, got {sections}",
            mrope_axes,
            sections,
            interleaved=False,
        )
        for sections in ([4, 4], [])
    ),
    refuse(
        ValueError,
        "sections [1, 3, 3] do not fit when interleaved",
        mrope_axes,
        [1, 3, 3],
        interleaved=True,
    ),
]


def graded(message, *values, error=ValueError):
    """An encoding that returns these, one a call: in range, beyond, shorter."""
    answers = cycle(values)  # a row may be tested more than once
    return refuse(error, message, report_card, lambda p: next(answers), length=32)


REPORT_ROWS = [
    *counts("length", report_card, lambda n: report_card(lambda p: p[:, None] / 1, length=n)),
    refuse(ValueError, "length must be at least 32, got 31", report_card, LEARNED, length=31),
    graded("encoding must return a float tensor, got list", [0.0], error=TypeError),
    graded("encoding must return a float tensor, got torch.int64", P, error=TypeError),
    graded(
        "encoding must return one row for each of 32 positions, got shape (31, 2)",
        torch.ones(31, 2),
    ),
    graded(
        "encoding must return one row for each of 32 positions, got shape (32,)", torch.ones(32)
    ),
    graded(
        "encoding must return one row for each of 16 positions, got shape (32, 2)",
        *(torch.ones(32, 2), torch.ones(128, 2), torch.ones(32, 2)),
    ),
    graded("encoding must return finite numbers in range, got nan", torch.full((32, 1), NAN)),
    graded(
        "encoding must return finite numbers in range, got inf",
        torch.tensor([0.0] * 30 + [INF, NAN])[:, None],
    ),
    graded(
        "encoding must return one row for each of 128 positions, got shape (32, 2)",
        *(torch.ones(32, 2), torch.ones(32, 2)),
    ),
    graded(
        "encoding must return a float tensor, got NoneType",
        torch.ones(32, 2),
        None,
        error=TypeError,
    ),
]

ROWS = [
    *FREQUENCY_ROWS,
    *SINUSOIDAL_ROWS,
    *LEARNED_ROWS,
    *ALIBI_ROWS,
    *RELATIVE_ROWS,
    *ATTENTION_ROWS,
    *ROTARY_ROWS,
    *SCALING_ROWS,
    *AXIAL_ROWS,
    *REPORT_ROWS,
]


@pytest.mark.parametrize(("error", "message", "owner", "call"), ROWS)
def test_a_bad_call_is_refused_by_name_rule_and_value(error, message, owner, call):
    with pytest.raises(error, match=rf"\A{re.escape(message)}\Z"):
        call()


def raises(owner) -> str:
    text = inspect.getdoc(owner.forward if isinstance(owner, nn.Module) else owner) or ""
    return text.partition("Raises:")[2].partition("\n\n")[0]


@pytest.mark.parametrize(
    ("owner", "error"), dict.fromkeys((row.values[2], row.values[0]) for row in ROWS)
)
def test_what_is_refused_is_documented(owner, error):
    assert error.__name__ in raises(owner)


def documented(name) -> set[str]:
    """The kinds of errors that a public name of the core, or one of its methods, says it raises."""
    owner = getattr(posenc, name)
    if owner.__module__.startswith("posenc.verify"):
        return set()  # it has tests of its own
    methods = vars(owner).values() if inspect.isclass(owner) else ()
    every = [owner, *filter(inspect.isfunction, methods)]
    return {error for each in every for error in re.findall(r"\b\w+Error\b", raises(each))}


@pytest.mark.parametrize("name", [*filter(documented, posenc.__all__)])
def test_what_is_documented_is_refused(name):
    owners = [(row.values[2], row.values[0].__name__) for row in ROWS]
    refused = {
        error
        for owner, error in owners
        if getattr(owner, "__qualname__", type(owner).__name__).partition(".")[0] == name
    }
    assert documented(name) <= refused


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (partial(rotate, X, RADIANS), "pairing"),
        (partial(relative_attention, *[HEADS] * 3, partial(alibi_bias, SLOPES), P, P), "causal"),
        (partial(ShawRelative, 4), "max_distance"),
    ],
)
def test_a_choice_that_changes_results_has_no_default(call, argument):
    message = f"missing 1 required keyword-only argument: '{argument}'"
    with pytest.raises(TypeError, match=message):
        call()
