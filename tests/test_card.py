import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from posenc import LearnedEncoding, report_card, sinusoidal_encoding, tensor2tensor_encoding

NAMES = ["unique", "bounded", "deterministic", "generalizable", "smooth", "relative-aware"]


def clock(angle):
    return torch.stack((angle.sin(), angle.cos()), dim=-1)


def integers(p):
    return p[:, None].double()


def normalised(p):
    return p[:, None].double() / (len(p) - 1)


def constant(p):
    return torch.ones(len(p), 3)


def parity(p):
    return (p[:, None] % 2).double()


def two_radians_a_position(p):
    return clock(2.0 * p)


def slowing_clock(p):
    return clock(p.double().log1p())


def binary(p):
    return (p[:, None] >> torch.arange(12) & 1).float()


def refusing(p):
    if len(p) > 128:
        raise IndexError("too long")
    return sinusoidal_encoding(p, 32)


def nothing_beyond(p):
    return sinusoidal_encoding(p, 32) / (p < 128)[:, None] * (p < 128)[:, None]


def one_hot_128(p):
    return one_hot(p, 128).float()


def noise_of_each_length(p):
    return torch.rand(len(p), 8, generator=torch.Generator().manual_seed(len(p)))


ENCODINGS = {
    integers: {"bounded"},
    normalised: {"deterministic"},
    constant: {"unique"},
    parity: {"unique", "smooth"},
    two_radians_a_position: {"smooth"},
    slowing_clock: {"relative-aware"},
    binary: {"smooth", "relative-aware"},
    refusing: {"generalizable"},
    nothing_beyond: {"bounded", "generalizable"},
    one_hot_128: {"generalizable", "smooth", "relative-aware"},
    LearnedEncoding(128, 16, std=1.0): {"generalizable", "smooth", "relative-aware"},
    noise_of_each_length: {"deterministic", "smooth", "relative-aware"},
}


@pytest.mark.parametrize(("encoding", "missing"), ENCODINGS.items())
def test_an_encoding_fails_exactly_what_it_lacks(encoding, missing):
    card = report_card(encoding)
    assert {grade.name for grade in card.grades if not grade.passed} == missing


@pytest.mark.parametrize("encode", [sinusoidal_encoding, tensor2tensor_encoding])
@pytest.mark.parametrize("dim", [16, 64])
@pytest.mark.parametrize("length", [32, 200])
def test_sinusoids_have_all_six(encode, dim, length):
    card = report_card(lambda p: encode(p, dim), length=length)
    assert [grade.name for grade in card.grades] == NAMES
    assert all(grade.passed for grade in card.grades)


@pytest.mark.parametrize("length", [32, 128])
def test_integers_measure_as_by_hand(length):
    card = report_card(integers, length=length)
    spread = (length + 1) / 3
    for name, value in {
        "unique": 1 / spread,
        "bounded": (4 * length - 1) / (length - 1),
        "deterministic": 0,
        "generalizable": 1,
        "smooth": 1 / spread,
        "relative-aware": 0,
    }.items():
        assert card[name].value == pytest.approx(value, abs=1e-12)


def test_an_encoding_that_is_far_from_zero_is_measured_as_exactly():
    here, far = (report_card(lambda p, x=x: 0.3 * integers(p) + x) for x in (0.1, 1e7 + 0.1))
    for name in ("unique", "smooth"):
        assert far[name].value == pytest.approx(here[name].value, rel=1e-6)


def affine_error(rows, offset):
    """Fitted to two positions of three, measured on the third: by hand."""
    here = [[*row, 1.0] for row in rows[:-offset]]
    there = rows[offset:]
    fit = [i for i in range(len(here)) if i % 3 != 2]
    held_out = [i for i in range(len(here)) if i % 3 == 2]
    matrix = np.linalg.pinv([here[i] for i in fit]) @ [there[i] for i in fit]
    return np.mean([np.linalg.norm(here[i] @ matrix - there[i]) for i in held_out])


@pytest.mark.parametrize("length", [32, 90])
def test_an_uneven_encoding_measures_as_by_hand(length):
    """Steps that differ, in a plane that is not centred, with a residue that no shift explains."""

    def encoding(p):
        p = p.double()
        return torch.stack((3 + p.sqrt(), (0.4 * p).sin(), 0.3 * (p * p % 7)), dim=-1)

    rows = encoding(torch.arange(4 * length)).numpy()
    seen = rows[:length]
    pairs = [(i, j) for i in range(length) for j in range(length) if i != j]
    distances = [np.linalg.norm(seen[i] - seen[j]) for i, j in pairs]
    spread = np.mean(distances)
    steps = [np.linalg.norm(seen[i + 1] - seen[i]) for i in range(length - 1)]
    card = report_card(encoding, length=length)
    for name, value in {
        "unique": min(distances) / spread,
        "bounded": np.abs(rows).max() / np.abs(seen).max(),
        "deterministic": 0,
        "generalizable": 1,
        "smooth": np.mean(steps) / spread,
        "relative-aware": max(affine_error(seen, k) for k in (1, 3, 8)) / spread,
    }.items():
        assert card[name].value == pytest.approx(value, rel=1e-9), name


SPREAD = 129 / 3  # of the integers 0 ... 127


def near(name, size):
    """An encoding of which this property measures about `size`."""
    return {  # neighbours that nearly coincide; growth beyond; a shift if shorter; a hand; residue
        "unique": lambda p: integers(p) - (p[:, None] >= 1) * (1 - size * SPREAD),
        "bounded": lambda p: integers(p).clamp(max=127) * torch.where(p < 128, 1, size)[:, None],
        "deterministic": lambda p: integers(p) + (len(p) < 128) * size * SPREAD,
        "smooth": lambda p: clock(2 * np.arcsin(2 / np.pi * size) * p.double()),
        "relative-aware": lambda p: torch.cat(
            (clock(p.double() / 5), 1.108 * size * (p * p % 7)[:, None]), dim=-1
        ),
    }[name]


@pytest.mark.parametrize(
    ("name", "limit", "passed"),
    [
        ("unique", 0.001, [False, True]),
        ("bounded", 1.05, [True, False]),
        ("deterministic", 0.001, [True, False]),
        ("smooth", 0.5, [True, False]),
        ("relative-aware", 0.05, [True, False]),
    ],
)
def test_a_property_is_met_on_one_side_of_its_limit(name, limit, passed):
    grades = [report_card(near(name, factor * limit))[name] for factor in (0.98, 1.02)]
    for grade, factor in zip(grades, (0.98, 1.02), strict=True):
        assert grade.value == pytest.approx(factor * limit, rel=0.01)
    assert [grade.passed for grade in grades] == passed


@pytest.mark.parametrize("length", [32, 128])
def test_normalised_positions_move_by_half_the_table(length):
    half = length // 2 - 1
    moved = (half / half - half / (length - 1)) / ((length + 1) / 3 / (length - 1))
    card = report_card(normalised, length=length)
    assert card["deterministic"].value == pytest.approx(moved, rel=1e-12)


def test_one_hot_vectors_are_all_equally_far():
    card = report_card(one_hot_128)
    assert card["unique"].value == pytest.approx(1)
    assert card["smooth"].value == pytest.approx(1)
    assert card["generalizable"].value == 0


@pytest.mark.parametrize("last", [160, 300])
def test_positions_without_a_finite_vector_are_not_general(last):
    def encoding(p):
        return integers(p).masked_fill(p[:, None] >= last, torch.nan)

    card = report_card(encoding)
    assert card["generalizable"].value == pytest.approx((last - 128) / (4 * 128 - 128))
    assert not card["generalizable"].passed
    assert not card["bounded"].passed


@pytest.mark.parametrize("error", [IndexError, ValueError, RuntimeError])
def test_refusing_longer_sequences_is_a_grade_and_not_a_crash(error):
    def encoding(p):
        if len(p) > 128:
            raise error
        return sinusoidal_encoding(p, 8)

    card = report_card(encoding)
    assert card["bounded"].passed
    assert card["bounded"].note == "measured in range: it refuses longer sequences"
    assert [grade.note for grade in card.grades if grade.name != "bounded"] == [""] * 5


def test_the_worst_of_three_shifts_counts():
    """With period 3 a shift by 3 changes nothing; the other two shifts tell."""

    def encoding(p):
        return torch.tensor([0.0, 1.0, 5.0])[p % 3, None]

    assert not report_card(encoding)["relative-aware"].passed


def test_measuring_leaves_no_gradient():
    encoding = LearnedEncoding(128, 4)
    report_card(encoding)
    assert encoding.weight.grad is None


def test_printing_shows_every_grade_with_its_verdict_and_rule():
    lines = str(report_card(refusing)).splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert [line.split()[1] for line in lines] == ["yes", "yes", "yes", "NO", "yes", "yes"]
    assert [line.split("   ")[-1].strip() for line in lines] == [
        "closest pair > 0.001 of the spread",
        "measured in range: it refuses longer sequences",
        "change in a shorter sequence < 0.001",
        "share of unseen positions encoded = 1",
        "mean step < 0.5 of the spread",
        "error of an affine shift < 0.05",
    ]
    assert "growth up to 4x the length <= 1.05" in str(report_card(integers))


def test_a_grade_is_found_by_name():
    card = report_card(constant)
    for name, grade in zip(NAMES, card.grades, strict=True):
        assert card[name] is grade
    with pytest.raises(KeyError, match=r"name must be one of .*'unique'.*, got 'pretty'"):
        card["pretty"]
