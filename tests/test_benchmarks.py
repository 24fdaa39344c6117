"""The benchmarks run, and their verdict on exactness stands."""

import re
import subprocess
import sys
from pathlib import Path

from benchmarks.report import Report, Target

ROOT = Path(__file__).parent.parent


def bench(*arguments):
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_float64_formula_is_the_limit_and_posenc_reaches_it():
    result = bench("--quick", "exactness")
    assert result.returncode == 0, result.stderr
    share = dict(
        re.findall(r"^(posenc|float64 formula in NumPy) .* (\d+\.\d+) %", result.stdout, re.M)
    )
    assert share["posenc"] == share["float64 formula in NumPy"]
    assert float(share["posenc"]) > 99.9
    assert re.search(r"module cast to bf16.*\| met", result.stdout)


def test_an_unknown_section_is_refused():
    result = bench("speed")
    assert result.returncode != 0
    assert "speed" in result.stderr


def test_the_report_ends_with_what_is_missed_and_by_how_much(capsys):
    report = Report()
    report.target(Target("fast", 0.5, 0.9), Target("slow", 1.8, 0.9), Target("absent", None, 1))
    report.target(Target("heavy", 25, 20, unit=" %"), Target("quick", 2, 3, at_least=True))
    capsys.readouterr()
    report.close()
    _, ending = capsys.readouterr().out.split("## 1 of 5 met, 3 missed\n")
    *_, slow, heavy, quick = ending.splitlines()
    assert slow.startswith("slow")
    assert slow.endswith("missed by 2.00 x")
    assert heavy.endswith("missed by 5 points")
    assert quick.endswith("missed by 1.50 x")
    assert "fast" not in ending
    assert "absent" not in ending
