"""Records survive what disks and machines do to them; sweeps lose nothing and repeat nothing."""

import contextlib
import csv
import errno
import hashlib
import io
import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from distributed import LocalCluster

from posenc.lab import METHODS, TASKS, Method, Recipe, outside, records, study, sweep
from posenc.lab.__main__ import main
from posenc.lab.provenance import commit
from posenc.lab.records import FORMAT, SHIPPED, Record, Run, append, read, recorded
from posenc.lab.sweep import MULTIPLES, execute, grid
from posenc.lab.tables import by_position, groups, rows, table
from posenc.show import plot_lengths

ROOT = Path(__file__).parents[1]
TINY = {"dim": 16, "num_heads": 2, "num_layers": 1}


def run(method="rope", seed=0, **settings):
    return Run(
        **{
            "method": method,
            "task": "who",
            "train_length": 4,
            "seed": seed,
            "steps": 2,
            "batch": 4,
            "size": TINY,
            **settings,
        }
    )


def made(method="rope", seed=0, results=None, *, converged=True, **settings):
    """A record by hand; results: length -> accuracy, or why there is none."""
    results = {
        length: score
        if isinstance(score, str)
        else {"loss": 0.5, "accuracy": score, "tail_loss": None, "by_block": [None, 0.1]}
        for length, score in (results or {4: 0.75, 8: "too far"}).items()
    }
    return Record(
        run(method, seed, **settings), results, 0.5, 0.95, 0.75, converged, {"commit": "none"}
    )


def keys(path):
    return [record.run.key for record in read(path)[0]]


# --- records ---


def test_what_is_appended_is_read(tmp_path):
    path = tmp_path / "new" / "folder" / "cpu.jsonl"
    written = [made(seed=seed, results={4: seed / 3, 8: "é\n\u2028"}) for seed in range(3)]
    for number, record in enumerate(written, start=1):
        append(path, record)
        assert read(path) == (written[:number], [])
        assert path.read_bytes().count(b"\n") == number


def test_a_folder_is_all_its_files(tmp_path):
    for name, seed in (("b.jsonl", 2), ("a.jsonl", 1), ("c.txt", 3)):
        append(tmp_path / name, made(seed=seed))
    assert read(tmp_path) == ([made(seed=1), made(seed=2)], [])
    assert read(tmp_path / "none") == ([], [])


@pytest.mark.parametrize("lost", [2, 10, 100])
def test_a_torn_line_is_refused_by_file_and_number_and_the_next_record_is_read(tmp_path, lost):
    path = tmp_path / "cpu.jsonl"
    for seed in (0, 1):
        append(path, made(seed=seed))
    os.truncate(path, path.stat().st_size - lost)
    found, [problem] = read(path)
    assert found == [made(seed=0)]
    assert f"{path}, line 2: not a record" in problem
    append(path, made(seed=2))
    assert read(path) == ([made(seed=0), made(seed=2)], [problem])


def test_a_record_without_its_line_end_stays_one(tmp_path):
    path = tmp_path / "cpu.jsonl"
    append(path, made(seed=0))
    os.truncate(path, path.stat().st_size - 1)
    append(path, made(seed=1))
    assert read(path) == ([made(seed=0), made(seed=1)], [])


def changed(**parts):
    return json.dumps({"format": FORMAT, **asdict(made()), **parts}).encode()


FOREIGN = {
    "another object": (b'{"a": 1}', f"its format must be '{FORMAT}'"),
    "another format": (changed(format="posenc.lab 0"), f"its format must be '{FORMAT}'"),
    "a list": (b"[1, 2]", f"its format must be '{FORMAT}'"),
    "null": (b"null", f"its format must be '{FORMAT}'"),
    "no JSON": (b"seed,score", "Expecting value"),
    "binary": (b"\x80\xff\x00\xfe", ""),
    "deep": (b"[" * 100_000, ""),
    "nothing": (b"", "Expecting value"),
    "no run": (json.dumps({"format": FORMAT, "results": {}}).encode(), "run: Field required"),
    "a run of other parts": (changed(run={"methods": 1}), "run.method: Field required"),
    "a misspelled key": (changed(run={**asdict(run()), "sed": 1}), "run.sed: "),
    "a wrong type": (changed(run={**asdict(run()), "seed": "1"}), "run.seed: Input should be"),
    "another method": (changed(run=asdict(run("rotary"))), "method must be one of none, "),
    "another task": (changed(run=asdict(run(task="sort"))), "task must be one of text, "),
    "results that are none": (changed(results=[1]), "results: "),
    "lengths that are none": (changed(results={"far": "1"}), "results.far"),
    "a score that is none": (changed(results={4: {"loss": "low"}}), "results.4"),
    "NaN": (changed(score=float("nan")), "NaN is no JSON"),
    "infinity": (changed(score=float("-inf")), "-Infinity is no JSON"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_record_is_refused_by_name_and_the_rest_is_read(tmp_path, kind):
    line, reason = FOREIGN[kind]
    path = tmp_path / "cpu.jsonl"
    append(path, made(seed=0))
    with path.open("ab") as file:
        file.write(line + b"\n")
    append(path, made(seed=1))
    found, [problem] = read(path)
    assert found == [made(seed=0), made(seed=1)]
    assert problem.startswith(f"{path}, line 2: not a record (")
    assert reason in problem


class FullDisk:
    """A file on a disk with room for so many bytes more."""

    def __init__(self, file, room, says):
        self.file, self.room, self.says = file, room, says

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, data):
        written = self.file.write(data[: self.room])
        if self.says:
            raise OSError(errno.ENOSPC, "No space left on device")
        return written


def fill(monkeypatch, room, says):
    really = Path.open
    monkeypatch.setattr(Path, "open", lambda *a, **k: FullDisk(really(*a, **k), room, says))


@pytest.mark.parametrize(("room", "says"), [(0, True), (0, False), (33, True), (33, False)])
@pytest.mark.parametrize("torn", [b"", b'{"format": "pos'])
def test_a_full_disk_leaves_earlier_records_as_they_were(tmp_path, monkeypatch, room, says, torn):
    path = tmp_path / "cpu.jsonl"
    append(path, made(seed=0))
    with path.open("ab") as file:
        file.write(torn)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        fill(patch, room, says)
        with pytest.raises(OSError, match="No space left" if says else "only a part"):
            append(path, made(seed=1))
    assert path.read_bytes() == before
    append(path, made(seed=2))
    assert read(path)[0] == [made(seed=0), made(seed=2)]


def test_a_disk_that_is_full_only_when_it_is_synced(tmp_path, monkeypatch):
    path = tmp_path / "cpu.jsonl"
    append(path, made(seed=0))
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        append(path, made(seed=1))
    assert path.read_bytes() == before


def test_each_record_is_brought_to_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    append(tmp_path / "cpu.jsonl", made())
    assert synced == [(tmp_path / "cpu.jsonl").stat().st_size]


@pytest.fixture
def blocked(tmp_path):
    """A results folder that nothing can be written to, whoever asks."""
    (tmp_path / "file").write_text("kept")
    yield tmp_path / "file" / "results"
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_that_cannot_be_written_is_an_os_error(blocked):
    with pytest.raises(OSError, match="file"):
        append(blocked / "cpu.jsonl", made())
    with pytest.raises(OSError, match="file"):
        sweep.sweep([run()], blocked / "cpu.jsonl", jobs=1)


# --- sweeps ---


@pytest.fixture
def executed(monkeypatch):
    """The runs that this process executes; they take no time."""
    calls = []

    def fake(run, *, command="", **_):
        calls.append(run)
        return replace(made(), run=run)

    monkeypatch.setattr(sweep, "execute", fake)
    return calls


def test_each_run_is_executed_once(tmp_path, executed):
    path = tmp_path / "cpu.jsonl"
    runs = [run(method, seed) for seed in (0, 1) for method in ("none", "rope")]
    assert sweep.sweep([*runs, runs[1]], path, jobs=1) == 4
    assert executed == runs
    before = path.read_bytes()
    assert sweep.sweep(runs, path, jobs=1) == 0
    assert executed == runs
    assert path.read_bytes() == before
    more = [
        run(seed=2),
        run(rate=1e-3),
        run(size={}),
        run(steps=3),
        run(task="first", train_length=8),
    ]
    assert sweep.sweep([*runs, *more], path, jobs=1) == 5
    assert executed == runs + more
    assert keys(path) == [run.key for run in runs + more]


def test_a_run_that_fails_leaves_those_before_it_on_disk(tmp_path, executed, monkeypatch):
    def fails(run, *, command="", **_):
        if run.seed == 2:
            raise ArithmeticError("it failed")
        return replace(made(), run=run)

    monkeypatch.setattr(sweep, "execute", fails)
    path = tmp_path / "cpu.jsonl"
    with pytest.raises(ArithmeticError, match="it failed"):
        sweep.sweep([run(seed=seed) for seed in range(4)], path, jobs=1)
    assert keys(path) == [run(seed=0).key, run(seed=1).key]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seed": -1}, "seed must be from 0 to 9999, got -1"),
        ({"steps": 0}, "steps must be positive and finite, got 0"),
        ({"rate": 0.0}, "rate must be positive and finite, got 0"),
        ({"size": {"dim": 20}}, "dim must be a multiple of 2 num_heads = 8, got 20"),
        ({"size": {"num_layers": 0}}, "num_layers must be positive, got 0"),
        ({"task": "sort"}, "task must be one of"),
        ({"data_seed": -1}, "data_seed must be from 0 to 9999, got -1"),
        ({"rate": math.inf}, "rate must be positive and finite, got inf"),
        ({"part": "train"}, "part must be one of test, validation, got 'train'"),
        ({"task": "first", "train_length": 5}, "length must be at least 6, got 5"),
        ({"task": "text", "train_length": 512}, "length must be below 4096, got 4096"),
        ({"device": "cuda"}, "device must be there, got 'cuda' without CUDA"),
        ({"method": "rotary"}, "method must be one of none, .* got 'rotary'"),
        ({"method": "math:pi"}, "method must be a class of posenc.lab.Method, got 'math:pi'"),
        ({"source": "1234"}, "source must be that of rope, got '1234'"),
        ({"knobs": {"base": 1.0}}, "base must be a finite number above 1, got 1.0"),
    ],
)
def test_nothing_is_run_if_one_run_cannot_be(tmp_path, executed, wrong, message):
    path = tmp_path / "cpu.jsonl"
    with pytest.raises(ValueError, match=message):
        sweep.sweep([run(), run(**wrong)], path, jobs=1)
    assert not executed
    assert not path.exists()


def test_a_knob_that_the_method_does_not_have_is_refused(tmp_path, executed):
    with pytest.raises(TypeError, match="'bass'"):
        sweep.sweep([run(knobs={"bass": 30.0})], tmp_path / "cpu.jsonl", jobs=1)
    assert not executed


def test_two_sweeps_do_not_write_to_one_file(tmp_path, executed, monkeypatch):
    path = tmp_path / "cpu.jsonl"
    code = (
        "import sys, time; from filelock import FileLock\n"
        "with FileLock(sys.argv[1]): print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(path.with_suffix(".lock"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(OSError, match=r"another sweep writes to .*cpu\.jsonl"):
            sweep.sweep([run()], path, jobs=1)
        other.kill()
    assert not executed
    assert sweep.sweep([run()], path, jobs=1) == 1  # the lock of a killed sweep is gone with it


def test_a_sweep_says_which_lines_are_no_records_and_runs_them_again(tmp_path, executed):
    path = tmp_path / "cpu.jsonl"
    append(path, made())
    os.truncate(path, path.stat().st_size - 9)
    with pytest.warns(UserWarning, match=r"cpu\.jsonl, line 1: not a record"):
        assert sweep.sweep([run()], path, jobs=1) == 1
    assert keys(path) == [run().key]


def test_a_grid_has_whole_seeds_and_the_tasks_own_settings(monkeypatch):
    monkeypatch.setattr(TASKS["who"], "steps", 77)
    monkeypatch.setattr(TASKS["who"], "train_length", 33)
    runs = grid(["none", "rope"], ["who", "text"], None, [3, 4], batch=7)
    assert [(r.seed, r.task, r.method) for r in runs] == [
        (seed, task, method)
        for seed in (3, 4)
        for task in ("who", "text")
        for method in ("none", "rope")
    ]
    assert {(r.task, r.train_length, r.steps, r.batch) for r in runs} == {
        ("who", 33, 77, 7),
        ("text", TASKS["text"].train_length, TASKS["text"].steps, 7),
    }
    lengths = grid(["none"], ["who"], [8, 9], [0], steps=5)
    assert [(r.train_length, r.steps) for r in lengths] == [(8, 5), (9, 5)]


def test_a_record_says_what_came_of_a_run_and_where():
    record = execute(run("learned", steps=3), command="typed")
    assert record.run == run("learned", steps=3)
    assert list(record.results) == [4, 8, 16, 32]
    assert record.results[8] == "positions must be below 4, got 7"
    assert record.score == record.results[4]["accuracy"]
    assert record.converged == (record.score >= record.goal)
    assert (record.chance, record.goal) == (0.5, 0.95)
    assert record.provenance.keys() == {
        *("command", "commit", "device", "versions", "date", "seconds")
    }
    assert record.provenance["command"] == "typed"
    assert f"torch {torch.__version__}" in record.provenance["versions"]


def test_a_run_leaves_threads_and_small_numbers_as_they_were():
    torch.set_num_threads(2)
    try:
        execute(run())
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert (torch.tensor(1e-310, dtype=torch.float64) * 0.5).item() > 0


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert commit() == "not in git"


def comparable(path):
    """Records by run, without where they came from; fails if one is there twice."""
    found, problems = read(path)
    assert not problems
    by_run = {record.run.key: replace(record, provenance={}) for record in found}
    assert len(by_run) == len(found)
    return by_run


def alone(runs):
    return {one.key: replace(execute(one), provenance={}) for one in runs}


def _of_session(leader):
    """The processes of a session that are still running, by Linux's own books."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.append(stat.parent.name)
    return found


@pytest.mark.long
def test_a_sweep_that_is_killed_goes_on(tmp_path, capsys):
    path = tmp_path / "cpu.jsonl"
    words = "--methods none learned --tasks who --lengths 4 --seeds 0 1 2 3 --steps 40 --batch 4"
    words += f" --dim 16 --num-heads 2 --num-layers 1 --jobs 2 --results {tmp_path}"
    arguments = ["sweep", *words.split()]
    process = subprocess.Popen(
        [sys.executable, "-m", "posenc.lab", *arguments],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while not (path.exists() and b"\n" in path.read_bytes()):
            assert process.poll() is None
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        deadline = time.monotonic() + 20
        while _of_session(process.pid):  # its workers end by themselves
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    runs = grid(["none", "learned"], ["who"], [4], range(4), steps=40, batch=4, size=TINY)
    done = path.read_bytes()
    before = len(keys(path))
    assert 1 <= before < len(runs)
    assert main([*arguments, "--jobs", "1"]) == 0
    assert f"{8 - before} of 8 runs were executed" in capsys.readouterr().out
    assert path.read_bytes().startswith(done)
    assert comparable(path) == alone(runs)
    commands = [record.provenance["command"] for record in read(path)[0]]
    assert commands[0] == f"python -m posenc.lab sweep {words}"
    assert commands[-1] == f"python -m posenc.lab sweep {words} --jobs 1"


@pytest.mark.long
def test_a_worker_of_a_cluster_that_is_killed_loses_nothing(tmp_path, monkeypatch):
    path = tmp_path / "cpu.jsonl"
    runs = [run(method, seed, steps=20) for seed in range(4) for method in ("t5", "rope")]
    in_flight = []
    really = records.append

    def append_and_kill(path, record):
        really(path, record)
        if in_flight:
            return
        for nanny in cluster.workers.values():
            state = cluster.scheduler.workers[nanny.worker_address]
            if state.processing:
                in_flight.extend(state.processing)
                os.kill(nanny.pid, signal.SIGKILL)
                return

    monkeypatch.setattr(records, "append", append_and_kill)
    with LocalCluster(
        n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        assert sweep.sweep(runs, path, scheduler=cluster.scheduler_address) == len(runs)
        assert in_flight
        assert sweep.sweep(runs, path, scheduler=cluster.scheduler_address) == 0
    assert comparable(path) == alone(runs)


# --- methods from elsewhere ---


def as_contributing_says():
    """The file mine.py of CONTRIBUTING."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.partition("```python\n")[2].partition("```")[0]


def in_folder(folder, *arguments):
    words = [sys.executable, "-m", "posenc.lab", *map(str, arguments)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_a_class_of_the_readers_own_is_swept_recorded_and_reported(tmp_path):
    (tmp_path / "mine.py").write_text(as_contributing_says())
    words = "--tasks who --lengths 4 --seeds 0 1 --steps 2 --batch 4 --dim 16 --num-heads 2"
    words = ["sweep", "--results", "out", "--methods", "rope", "mine:Kerple", *words.split()]
    assert "4 of 4 runs" in in_folder(tmp_path, *words, "--jobs", 2)
    assert "0 of 4 runs" in in_folder(tmp_path, *words)
    found = [r.run for r in read(tmp_path / "out")[0] if r.run.method == "mine:Kerple"]
    expected = hashlib.sha256((tmp_path / "mine.py").read_bytes()).hexdigest()[:16]
    assert [run.source for run in found] == [expected] * 2
    report = in_folder(tmp_path, "report", "--results", "out")
    assert "mine:Kerple" in report
    assert "rope" in report
    with (tmp_path / "mine.py").open("a") as file:
        file.write("# changed\n")
    assert "2 of 4 runs" in in_folder(tmp_path, *words, "--jobs", 1)


@pytest.fixture
def kerple(tmp_path, monkeypatch):
    """The class of a module that only this process can import."""
    (tmp_path / "only_here.py").write_text(as_contributing_says())
    monkeypatch.syspath_prepend(tmp_path)
    yield outside.find("only_here:Kerple")
    sys.modules.pop("only_here")


def test_a_class_travels_to_a_process_that_cannot_import_it(kerple, tmp_path):
    (tmp_path / "class").write_bytes(outside.packed("only_here:Kerple"))
    code = (
        "import sys; from posenc.lab import Recipe, train\n"
        "from posenc.lab.outside import unpacked\n"
        "kerple = unpacked('only_here:Kerple', open(sys.argv[1], 'rb').read())\n"
        "print(train(kerple, 'who', train_length=4, recipe=Recipe(2)).method.height.shape)\n"
        "assert 'only_here' not in sys.modules"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "class")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "torch.Size([4, 1, 1])\n", done.stderr


def test_a_class_is_swept_on_a_cluster(kerple, tmp_path):
    runs = grid([kerple, METHODS["none"]], ["who"], [4], [0], steps=2, batch=4, size=TINY)
    assert [run.method for run in runs] == ["only_here:Kerple", "none"]
    with LocalCluster(
        n_workers=1, processes=True, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        path = tmp_path / "cpu.jsonl"
        assert sweep.sweep(runs, path, scheduler=cluster.scheduler_address) == 2
    assert comparable(path) == alone(runs)


def test_a_class_that_nobody_else_could_find_is_refused(annotations_off):
    class Local(Method):
        pass

    with pytest.raises(ValueError, match=r"method must be a class of a module, got .*Local"):
        grid([Local], ["who"], [4], [0])
    with pytest.raises(TypeError, match="method must be a name or a class of Method, got 3"):
        grid([3], ["who"], [4], [0])


def test_a_method_that_fails_is_refused_before_any_run(kerple, tmp_path, executed, monkeypatch):
    sweep._rehearse.cache_clear()
    monkeypatch.setattr(kerple, "bias", lambda self, relative: torch.zeros(3, 2, 2))
    runs = grid(["none", kerple], ["who"], [4], [0], size=TINY)
    with pytest.raises(ValueError, match="method must run, got only_here:Kerple with "):
        sweep.sweep(runs, tmp_path / "cpu.jsonl", jobs=1)
    assert not executed


# --- the command line ---


@pytest.fixture
def results(tmp_path):
    """A folder with a record that must stay."""
    append(tmp_path / "cpu.jsonl", made("none"))
    before = (tmp_path / "cpu.jsonl").read_bytes()
    yield tmp_path
    assert (tmp_path / "cpu.jsonl").read_bytes() == before


def refused(capsys, *arguments):
    """The one line on stderr."""
    try:
        status = main(list(map(str, arguments)))
    except SystemExit as exit_:
        status = exit_.code
    assert status not in (0, None)
    said = capsys.readouterr()
    assert not said.out
    assert re.fullmatch(r"python -m posenc\.lab( \w+)?: .+\n", said.err)
    return said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "rotary"], "method must be one of none, "),
        (["--methods", "nowhere:Kerple"], "method must be found, got nowhere:Kerple"),
        (["--rate", "inf"], "must be positive and finite, got inf"),
        (["--rate", "nan"], "must be positive and finite, got nan"),
        (["--quick", "--tasks", "copy"], "--quick chooses the tasks itself, got --tasks"),
        (["--quick", "--seeds", "5"], "--quick chooses the seeds itself, got --seeds"),
        (["--device", "cuda", "--tasks", "who"], "device must be there, got cuda without CUDA"),
        (["--lengths", "5", "--tasks", "first"], "length must be at least 6, got 5"),
        (["--results", str(SHIPPED)], "must be outside of the package"),
        (["--tasks", "sort"], "invalid choice: 'sort'"),
        (["--steps", "0"], "must be a positive whole number, got 0"),
        (["--steps", "2.5"], "must be a positive whole number, got 2.5"),
        (["--lengths", "x"], "x"),
        (["--device", "tpu"], "invalid choice: 'tpu'"),
        (["--cheap"], "--cheap"),
    ],
)
def test_wrong_arguments_are_refused_in_a_line(results, capsys, arguments, message):
    line = refused(capsys, "sweep", "--results", results, *arguments)
    assert message.replace("'", "") in line.replace("'", "")  # Python 3.12 quotes less


@pytest.fixture
def asked(monkeypatch):
    """What the command line asks of `sweep`; nothing is trained."""
    calls = []

    def noted(runs, path, **options):
        calls.append((list(runs), path, options))
        return len(calls[-1][0])

    monkeypatch.setattr("posenc.lab.__main__.sweep", noted)
    return calls


def test_every_option_reaches_the_runs(asked, tmp_path, capsys):
    words = (
        "sweep --methods rope alibi --tasks who --lengths 5 --seeds 7 --steps 3 --batch 6 "
        "--rate 0.004 --drawn --dim 16 --num-heads 2 --num-layers 1 --jobs 3 --scheduler tcp://a"
    )
    arguments = [*words.split(), "--results", str(tmp_path)]
    assert main(arguments) == 0
    ((runs, path, options),) = asked
    settings = {"seed": 7, "steps": 3, "batch": 6, "rate": 0.004, "drawn": True, "size": TINY}
    assert runs == [run(name, train_length=5, **settings) for name in ("rope", "alibi")]
    assert path == tmp_path / "cpu.jsonl"
    command = " ".join(["python -m posenc.lab", *arguments])
    assert options == {"jobs": 3, "scheduler": "tcp://a", "command": command}
    assert "2 of 2 runs were executed" in capsys.readouterr().out


def test_without_options_all_methods_and_tasks_run_three_times(asked, tmp_path):
    assert main(["sweep", "--results", str(tmp_path)]) == 0
    ((runs, _, options),) = asked
    assert runs == grid(list(METHODS), list(TASKS), None, [0, 1, 2])
    assert (options["jobs"], options["scheduler"]) == (None, None)


def test_a_study_asks_until_nothing_is_missing(asked, tmp_path, monkeypatch, capsys):
    missing = iter([[run(seed=0), run(seed=1)], [run(seed=2)], []])
    named = []

    def next_missing(found, names):
        named.append((found, names))
        return next(missing)

    monkeypatch.setattr("posenc.lab.study.missing", next_missing)
    first, *_ = study.EXPERIMENTS
    options = ["--only", first, "--jobs", "2", "--scheduler", "tcp://b"]
    assert main(["study", "--results", str(tmp_path), *options]) == 0
    assert [[r.seed for r in runs] for runs, _, _ in asked] == [[0, 1], [2]]
    assert {path for _, path, _ in asked} == {tmp_path / "study.jsonl"}
    assert all(o["jobs"] == 2 and o["scheduler"] == "tcp://b" for _, _, o in asked)
    assert named == [([], [first])] * 3
    assert capsys.readouterr().out.startswith("3 runs were executed")


def test_the_second_look_has_a_file_of_its_own(asked, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("posenc.lab.study.second_look", lambda found: found[:2])
    assert main(["study", "--again", "--jobs", "2", "--results", str(tmp_path)]) == 0
    ((runs, path, options),) = asked
    assert (runs, path) == (records.recorded()[:2], tmp_path / "again.jsonl")
    assert options["jobs"] == 2
    assert "second look" in capsys.readouterr().out
    with pytest.raises(SystemExit):  # --only chooses among the first study's experiments
        main(["study", "--again", "--only", "text", "--results", str(tmp_path)])


def test_a_study_does_all_experiments_unless_told(asked, tmp_path, monkeypatch):
    named = []
    monkeypatch.setattr("posenc.lab.study.missing", lambda found, names: named.append(names))
    assert main(["study", "--results", str(tmp_path)]) == 0
    assert named == [list(study.EXPERIMENTS)]
    assert not asked


def test_no_command_is_refused_in_a_line(capsys):
    assert "required: action" in refused(capsys)


@pytest.mark.parametrize("name", ["sweep", "study", "stretch", "report"])
def test_each_command_is_described_and_asks_for_its_folder(name, capsys):
    for words in (["--help"], [name, "--help"]):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 0
    whole, own = re.split(r"(?=usage: python -m posenc\.lab \w+ )", capsys.readouterr().out)
    assert re.search(rf"^    {name} +\w+ \w+", whole, re.MULTILINE)
    assert "--results FOLDER" in own
    if name != "report":
        assert "required: --results" in refused(capsys, name)


def test_options_that_need_a_word_have_one(capsys):
    with pytest.raises(SystemExit):
        main(["sweep", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for phrase in (
        "--quick sinusoidal, rope, t5, alibi",
        "--jobs JOBS processes; one a core by default",
        "--scheduler SCHEDULER address of a Dask scheduler",
        "--rate RATE peak learning rate",
        "or package.module:Class; all named ones by default",
    ):
        assert phrase in said


@pytest.mark.filterwarnings("default:slow disk")
def test_a_warning_is_said_in_a_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        "posenc.lab.__main__.sweep", lambda *_, **__: warnings.warn("slow disk", stacklevel=1) or 0
    )
    assert main(["sweep", "--results", str(tmp_path)]) == 0
    assert capsys.readouterr().err == "slow disk\n"


def test_a_scheduler_that_does_not_answer_is_refused_in_a_line(results, capsys, monkeypatch):
    monkeypatch.setattr(sweep, "_PATIENCE", 0.5)
    start = time.monotonic()
    address = "tcp://127.0.0.1:1"
    assert address in refused(capsys, "sweep", "--results", results, "--scheduler", address)
    assert time.monotonic() - start < 25  # Dask's own patience is 30 s


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(blocked, capsys, executed):
    line = refused(capsys, "sweep", "--quick", "--jobs", 1, "--results", blocked)
    assert str(blocked.parent) in line
    assert not executed


def test_a_disk_that_fills_up_is_said_in_the_last_line(results, capsys, executed, monkeypatch):
    fill(monkeypatch, 20, True)
    arguments = ["sweep", "--quick", "--jobs", "1", "--results", str(results)]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert error.splitlines()[-1].endswith("No space left on device")
    assert executed


def test_an_interrupted_sweep_says_how_to_go_on(results, capsys, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "execute", interrupted)
    assert main(["sweep", "--quick", "--jobs", "1", "--results", str(results)]) == 130
    said = capsys.readouterr()
    assert "the same command goes on" in said.out
    assert "Traceback" not in said.err


def test_a_report_of_nothing_is_refused_in_a_line(tmp_path, capsys):
    for folder in (tmp_path, tmp_path / "none"):
        assert str(folder) in refused(capsys, "report", "--results", folder)


# --- the report ---

SCORES = {  # method -> for each seed the scores at 4 and 8, and whether it converged
    "rope": [((0.97, 0.5), True), ((1.0, 0.75), True), ((0.95, 0.6), True)],
    "learned": [((0.99, "too far"), True), ((0.96, "too far"), True), ((0.98, "too far"), True)],
    "none": [((0.5, 0.52), False), ((0.96, 0.4), True), ((0.53, 0.45), False)],
}


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_report_has_means_half_ranges_and_marks(tmp_path, capsys):
    for method, seeds in SCORES.items():
        for seed, (scores, converged) in enumerate(seeds):
            results = dict(zip((4, 8), scores, strict=True))
            append(tmp_path / "cpu.jsonl", made(method, seed, results, converged=converged))
    with (tmp_path / "cpu.jsonl").open("a") as file:
        file.write("torn")
    assert main(["report", "--results", str(tmp_path), "--markdown"]) == 1
    said = capsys.readouterr()
    assert "cpu.jsonl, line 10: not a record" in said.err
    lines = said.out.splitlines()
    assert lines[:2] == [
        "who, trained at 4 on cpu, 2 steps of 4, dim 16, num_heads 2, num_layers 1; test, second "
        "design; rate 0.002",
        "right answers, higher is better; chance 0.50, goal 0.95",
    ]
    expected = [["method", "4", "8", "seeds"], ["---"] * 4]
    for method in METHODS:  # their order
        if method not in SCORES:
            continue
        columns = list(zip(*(scores for scores, _ in SCORES[method]), strict=True))
        row = [method if all(ok for _, ok in SCORES[method]) else f"{method} *"]
        for column in columns:
            if "too far" in column:
                row.append("-")
            else:
                average, spread = sum(column) / 3, (max(column) - min(column)) / 2
                row.append(f"{average:.2f}±{spread:.2f}")
        expected.append([*row, "3"])
    assert [cells(line) for line in lines if line.startswith("|")] == expected
    assert expected[2] == ["none *", "0.66±0.23", "0.46±0.06", "3"]
    missing = [method for method in METHODS if method not in SCORES]
    assert f"Not run: {', '.join(missing)}." in lines
    assert lines[-3:] == [
        "@ is the learning rate. A cell is the mean over seeds; ± is half the range from",
        "the worst seed to the best, no confidence interval.",
        "\\* not converged at the training length: supports no claim.",
    ]


def test_a_report_of_one_seed_has_no_range():
    alone = cells(table([made()], style="markdown").splitlines()[5])
    assert alone == ["rope", "0.75", "-", "1"]


def test_a_report_of_an_unknown_task_is_refused(results, capsys):
    with pytest.raises(SystemExit):
        main(["report", "--results", str(results), "--task", "sort"])
    assert "invalid choice: 'sort'" in capsys.readouterr().err


def test_a_report_of_all_methods_misses_none():
    assert "Not run" not in table([made(method) for method in METHODS])


def test_a_row_counts_seeds_and_says_why_a_length_is_refused():
    some = [made(seed=seed, converged=seed > 0) for seed in range(3)]
    [row] = rows(some, "who", 4)
    assert (row.method, row.scores, row.refused) == ("rope", {4: [0.75] * 3}, {8: "too far"})
    assert (row.converged, row.seeds) == (2, 3)
    assert rows(some, "who", 8) == rows(some, "first", 4) == []


@pytest.mark.parametrize(
    "other",
    [
        {"task": "first"},
        {"train_length": 5},
        {"size": {"dim": 16}},
        {"device": "cuda"},
        {"steps": 3},
        {"batch": 5},
        {"part": "validation"},
        {"drawn": True},
        {"design": "first"},
    ],
)
def test_what_was_trained_otherwise_has_a_table_of_its_own(other):
    some = [made(), made(**other)]
    assert [len(group) for group in groups(some).values()] == [1, 1]
    assert table(some, style="markdown").count("| method |") == 2
    if not {"task", "train_length"} & other.keys():
        with pytest.raises(ValueError, match="records must share device, size, steps and batch"):
            rows(some, "who", 4)
        with pytest.raises(ValueError, match="records must share device, size, steps and batch"):
            by_position(some, "who", 4, "rope", 4)


@pytest.mark.parametrize("other", [{"rate": 1e-3}, {"knobs": {"base": 30.0}}])
def test_another_setting_of_a_method_is_another_row_and_never_mixed(other):
    some = [made("none"), made(), made(**other)]
    assert len(groups(some)) == 1
    lines = [cells(line)[0] for line in table(some, style="markdown").splitlines() if "|" in line]
    assert len(set(lines)) == len(lines) == 5
    with pytest.raises(ValueError, match=r"share rate and knobs, got .* for rope"):
        rows(some, "who", 4)
    with pytest.raises(ValueError, match=r"share rate and knobs, got .* for rope"):
        by_position(some, "who", 4, "rope", 4)
    assert [row.rate for row in rows([made("none"), made(**other)], "who", 4)] == [
        2e-3,
        other.get("rate", 2e-3),
    ]


def test_a_report_fits_a_screen_or_is_csv_or_of_one_task(tmp_path, capsys):
    long = {"gain": 100.0, "distance": 0.25}
    some = [made(seed=seed, results={4 * 2**i: 0.25 for i in range(5)}) for seed in range(10)]
    some += [made("t5", knobs=long), made(task="first", train_length=8, results={8: 0.5})]
    for record in some:
        append(tmp_path / "cpu.jsonl", record)
    report = ["report", "--results", str(tmp_path)]
    assert main(report) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 79
    assert "t5(distance=0.25, gain=100)" in text
    assert main([*report, "--task", "first"]) == 0
    assert "who" not in capsys.readouterr().out
    assert main([*report, "--csv"]) == 0
    found = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(found) == 10 * 5 + 2 + 1
    assert " ".join(found[0]) == (
        "design part task train_length drawn method knobs rate dim steps seed data_seed converged "
        "length score refused"
    )
    assert {line["dim"] for line in found} == {"16"}
    rows = [(line["method"], line["knobs"], line["length"], line["score"]) for line in found]
    assert rows.count(("t5", "(distance=0.25, gain=100)", "4", "0.75")) == 1
    assert rows.count(("t5", "(distance=0.25, gain=100)", "8", "")) == 1
    assert rows.count(("rope", "", "8", "0.5")) == 1
    assert [line["refused"] for line in found if not line["score"]] == ["too far"]


@pytest.mark.parametrize("style", ["text", "markdown"])
def test_rates_are_named_where_they_differ(style):
    shared = table([made(), made("alibi")], style=style)
    assert "; rate 0.002" in shared.replace("\n", " ")
    assert "@0" not in shared
    mixed = table([made(rate=4e-3), made("alibi", rate=1e-3)], style=style)
    assert "a rate for each (@)" in mixed.replace("\n", " ")
    for name in ("rope @0.004", "alibi @0.001"):
        assert name in mixed


def test_a_seed_that_is_there_twice_is_refused():
    with pytest.raises(ValueError, match=r"different seeds, got .* for rope"):
        table([made(), made()])


@pytest.mark.parametrize("part", ["test", "validation"])
def test_a_record_keeps_each_sequence_of_the_test_alone(part):
    record = execute(run(part=part), command="typed")
    assert record.provenance["command"] == "typed"
    assert 0 <= record.provenance["seconds"] == round(record.provenance["seconds"], 1) < 60
    for result in record.results.values():
        assert ("each" in result) == (part == "test")


def test_the_loss_along_a_text_is_the_mean_over_seeds():
    by_seed = ([1.0, 2.0], [2.0, 5.0])
    some = [
        replace(made(seed=seed), results={4: {"accuracy": 0.5, "by_block": blocks}, 8: "too far"})
        for seed, blocks in enumerate(by_seed)
    ]
    assert by_position([*some, made("none", 2)], "who", 4, "rope", 4) == [1.5, 3.5]
    for method, length in (("alibi", 4), ("rope", 8), ("rope", 16)):
        with pytest.raises(ValueError, match=f"{method} on who at {length}"):
            by_position(some, "who", 4, method, length)


# --- figures ---


def test_a_figure_has_means_spread_and_dashes_for_what_has_not_converged():
    good = [made("rope", seed, {4: 0.9, 8: score}) for seed, score in enumerate((0.5, 0.7))]
    bad = [made("none", 0, {4: 0.5, 8: 0.25}, converged=False)]
    ends = [made("learned", 0, {4: 1.0, 8: "too far"})]
    measured = rows([*good, *bad, *ends], "who", 4)
    ax = plot_lengths(measured, train_length=4, ylabel="share", levels={"chance": 0.3})
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["RoPE"].get_xydata().tolist() == [[1, 0.9], [2, pytest.approx(0.6)]]
    assert lines["learned"].get_xydata().tolist() == [[1, 1.0]]
    assert [lines[name].get_linestyle() for name in ("none", "learned", "RoPE")] == ["--", "-", "-"]
    (band,) = (c for c in ax.collections if len(c.get_paths()[0].vertices) > 5 and _high(c) == 0.9)
    assert band.get_paths()[0].vertices[:, 1].min() == 0.5
    assert ax.lines[-1].get_ydata()[0] == 0.3


def _high(band):
    return band.get_paths()[0].vertices[:, 1].max()


# --- what the package brings along ---


def test_every_shipped_line_is_a_record_with_its_provenance():
    shipped = [*recorded("first"), *recorded()]
    assert len({record.run.key for record in shipped}) == len(shipped)
    for record in shipped:
        task = TASKS[record.run.task]
        assert record.score == record.results[record.run.train_length][task.measure]
        goal_reached = record.score >= record.goal
        multiples = MULTIPLES[record.run.part]
        if record.run.design == "first":
            multiples = (1, 2, 4, 8, 16)
        if task.measure == "tail_loss":
            goal_reached = record.score <= record.goal
        assert record.converged == goal_reached
        assert sorted(record.results) == [record.run.train_length * m for m in multiples]
        assert re.fullmatch(r"[0-9a-f]{7,}", record.provenance["commit"])
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", record.provenance["date"])
        assert record.provenance["command"].startswith("python -m posenc.lab s")
        assert record.provenance["seconds"] > 1
        assert {"device", "versions"} < set(record.provenance)


FIRST_TASKS = {"text", "masked-text", "copy", "reverse", "induction", "first", "last", "who"}


def test_each_method_was_run_on_each_recorded_task_with_three_seeds():
    usual = [r.run for r in recorded("first") if (r.run.device, r.run.rate) == ("cpu", Recipe.rate)]
    runs = {(run.task, run.method, run.seed) for run in usual}
    tasks = {task for task, _, _ in runs}
    assert tasks == FIRST_TASKS
    assert runs == set(itertools.product(tasks, METHODS, range(3)))


def test_each_method_was_run_on_text_at_four_rates():
    runs = [r.run for r in recorded("first") if (r.run.device, r.run.task) == ("cpu", "text")]
    rates = {0.001, 0.002, 0.004, 0.008}
    assert {run.rate for run in runs} == rates
    first = {(run.method, run.rate) for run in runs if run.seed == 0}
    assert first == set(itertools.product(METHODS, rates))
    others = {(run.method, run.rate, run.seed) for run in runs if run.rate != Recipe.rate}
    many = itertools.product(("sinusoidal", "rope"), rates - {Recipe.rate}, (1, 2))
    assert set(many) == {run for run in others if run[-1] > 0}


@pytest.mark.long
def test_a_shipped_record_can_be_had_again():
    (old,) = (
        r for r in recorded("first") if (r.run.task, r.run.method, r.run.seed) == ("who", "t5", 0)
    )
    new = execute(old.run)
    assert new.converged == old.converged
    assert new.score == pytest.approx(old.score, abs=0.03)


@pytest.mark.long
def test_an_unsaturated_record_is_repeated_position_by_position():
    (old,) = (
        r
        for r in recorded()
        if (r.run.task, r.run.label, r.run.rate) == ("text", "rope(base=30, share=1)", 0.008)
        and r.run.part == "validation"
    )
    new = execute(old.run)
    assert 1.5 < old.score < 2  # neither learned by heart nor at chance
    for length in (32, 64):
        assert new.results[length]["by_block"] == pytest.approx(
            old.results[length]["by_block"], abs=0.05
        )


def test_a_shipped_line_that_is_no_record_is_refused(tmp_path, monkeypatch):
    assert list(SHIPPED.glob("first/*.jsonl"))
    monkeypatch.setattr(records, "SHIPPED", tmp_path)
    (tmp_path / "cpu.jsonl").write_text("nothing\n")
    with pytest.raises(ValueError, match="line 1"):
        recorded()
    with pytest.raises(ValueError, match="design must be one of second, first, again, got 'third'"):
        recorded("third")
