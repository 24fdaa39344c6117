"""RoPE stretched in the laboratory: the frequencies are posenc.scaling's, the rest stays."""

import pytest
import torch

from posenc import angles, inverse_frequencies, phasors, rotate, scaling
from posenc.lab import Config, Recipe, Transformer, records, stretch, train
from posenc.lab.__main__ import main
from posenc.lab.methods import METHODS
from posenc.lab.sweep import alone

LINES = inverse_frequencies(32, base=100.0)
WANTED = {
    "unscaled": lambda n: (LINES, 1.0),
    "linear": lambda n: scaling.linear_scaling(LINES, factor=4),
    "ntk": lambda n: scaling.ntk_scaling(LINES, factor=4),
    "dynamic ntk": lambda n: scaling.ntk_scaling(LINES, factor=max(n / 64, 1)),
    "by parts": lambda n: scaling.parts_scaling(LINES, factor=4, trained_length=64, slow=1, fast=4),
    "yarn": lambda n: (WANTED["by parts"](n)[0], scaling.yarn_gain(4)),
}


@pytest.mark.parametrize("name", stretch.STRETCHES)
@pytest.mark.parametrize("length", [48, 200])
def test_a_stretching_turns_by_the_frequencies_of_scaling(name, length):
    method = stretch.STRETCHES[name](Config(97, True, 64, **stretch.SIZE))
    x = torch.randn(1, 2, length, 32)
    inv_freq, gain = WANTED[name](length)
    points = phasors(angles(torch.arange(length), inv_freq), gain=gain)
    assert torch.equal(method.turn(x, torch.arange(length)), rotate(x, points, pairing="half"))


@pytest.mark.parametrize("cut", [0, 5, 16])
def test_a_cut_divides_the_pairs_from_one_on(cut):
    config = Config(97, True, 64, **stretch.SIZE)
    inv_freq, gain = stretch.Cut(config, cut=cut, factor=4.0).scaled(99)
    assert gain == 1
    assert (LINES / inv_freq).tolist() == [1.0] * cut + [4.0] * (16 - cut)


def test_unscaled_is_the_laboratorys_rope():
    config, x, positions = (
        Config(97, True, 64, **stretch.SIZE),
        torch.randn(2, 2, 9, 32),
        torch.arange(9),
    )
    other = METHODS["rope"](config, base=100.0)
    assert torch.allclose(stretch.Unscaled(config).turn(x, positions), other.turn(x, positions))


def test_training_goes_on_from_given_weights_and_leaves_them():
    options = {"train_length": 8, "size": stretch.SIZE, "recipe": Recipe(steps=1, batch=2)}
    first = train(stretch.Unscaled, "text", **options)
    before = {name: value.clone() for name, value in first.state_dict().items()}
    still = Recipe(steps=1, batch=2, rate=1e-9)
    same = train(stretch.Linear, "text", seed=5, start=first, **options | {"recipe": still})
    on = train(stretch.Linear, "text", seed=5, start=first, **options)
    for name, value in before.items():
        assert torch.equal(first.state_dict()[name], value)
        assert torch.allclose(same.state_dict()[name], value, atol=1e-6)
    assert any(not torch.allclose(on.state_dict()[n], v, atol=1e-4) for n, v in before.items())


@pytest.fixture
def small(monkeypatch):
    """The study in miniature."""
    monkeypatch.setattr(stretch, "RECIPE", Recipe(steps=2, batch=2))
    monkeypatch.setattr(stretch, "PAIRS", 2)
    monkeypatch.setattr(stretch, "FURTHER", Recipe(steps=3, batch=2))
    monkeypatch.setattr(stretch, "SEQUENCES", 2)
    monkeypatch.setattr(stretch, "SEEDS", (0, 1))


def test_the_study_goes_on_where_it_stopped(small, tmp_path, monkeypatch, capsys):
    path, append = tmp_path / "stretch.jsonl", records.append

    def stop_after_13(path, record):
        append(path, record)
        if len(path.read_bytes().splitlines()) == 13:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(records, "append", stop_after_13)
        assert main(["stretch", "--results", str(tmp_path)]) == 130
    kept = path.read_bytes()
    assert main(["stretch", "--results", str(tmp_path)]) == 0
    assert "15 of 28 runs" in capsys.readouterr().out
    assert path.read_bytes().startswith(kept)
    found, problems = records.read(path)
    assert not problems
    assert [record.run for record in found] == stretch.runs((0, 1))
    whole = tmp_path / "whole.jsonl"
    assert stretch.stretch(whole) == 28
    again, _ = records.read(whole)
    assert [record.results for record in again] == [record.results for record in found]
    assert main(["stretch", "--results", str(tmp_path)]) == 0
    assert "0 of 28 runs" in capsys.readouterr().out


def test_a_spoilt_file_is_refused(small, tmp_path):
    path = tmp_path / "stretch.jsonl"
    path.write_text("{}\n")
    with pytest.raises(ValueError, match=r"every line must be a record, got .*line 1"):
        stretch.stretch(path)


def test_a_spoilt_package_is_refused(tmp_path, monkeypatch):
    (tmp_path / "stretch.jsonl").write_text("{}\n")
    monkeypatch.setattr(stretch, "RESULTS", tmp_path / "stretch.jsonl")
    with pytest.raises(ValueError, match=r"every shipped line must be a record, got .*line 1"):
        stretch.recorded()


def test_more_training_goes_on_from_the_weights_with_texts_of_its_own(monkeypatch):
    model = Transformer(Config(97, True, 64, **stretch.SIZE), stretch.Unscaled, seed=0)
    asked = []

    def noted(*words, **options):
        asked.append((words, options))
        return model

    monkeypatch.setattr(stretch, "train", noted)
    run = next(r for r in stretch.runs([3]) if r.knobs["further"] and "Yarn" in r.method)
    assert stretch._stretched(model, run) is model
    (((method, task), options),) = asked
    assert (method, task) == (stretch.Yarn, stretch.TASK)
    assert options == {
        "train_length": stretch.LENGTHS[2],
        "recipe": stretch.FURTHER,
        "size": stretch.SIZE,
        "seed": 3,
        "data_seed": 2003,  # the first training drew with 1003
        "start": model,
    }


def test_two_at_once_are_refused(small, tmp_path, capsys):
    with alone(tmp_path / "stretch.jsonl"):
        assert main(["stretch", "--results", str(tmp_path)]) == 1
    assert "another sweep writes to" in capsys.readouterr().err


def test_stretching_changes_no_weight():
    model = Transformer(Config(97, True, 64, **stretch.SIZE), stretch.Unscaled, seed=0)
    run = next(run for run in stretch.runs([0]) if run.method.endswith("Linear"))
    other = stretch._stretched(model, run)
    assert isinstance(other.method, stretch.Linear)
    for name, value in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], value)


def test_what_is_shipped_is_the_whole_study_of_this_source():
    found = stretch.recorded()
    assert [record.run for record in found] == stretch.runs(stretch.SEEDS)
    assert all(record.converged for record in found if "Unscaled" in record.run.method)
    assert len({record.provenance["commit"] for record in found}) == 1
    assert {record.provenance["command"] for record in found} == {
        "python -m posenc.lab stretch --results /tmp/stretch_new"
    }
    for groups in (stretch.by_stretch(found, further=False), stretch.by_cut(found)):
        assert {len(group) for group in groups.values()} == {len(stretch.SEEDS)}
    both = stretch.by_stretch(found, further=False)["linear"], stretch.by_cut(found)[0]
    for one, other in zip(*both, strict=True):  # two ways to the same frequencies
        assert one.results[256]["tail_loss"] == other.results[256]["tail_loss"]
