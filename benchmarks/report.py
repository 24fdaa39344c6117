"""Print tables and targets as soon as they are measured."""

from collections.abc import Sequence
from dataclasses import dataclass

from tqdm import tqdm

from benchmarks.timing import Race, Spread

ABSENT = "not installed"


@dataclass(frozen=True)
class Target:
    """What was hoped for beside what was measured; `measured` is None where a peer is absent.

    A target in percent is missed by percentage points, any other one by a factor.
    """

    name: str
    measured: Spread | float | None
    limit: float
    at_least: bool = False
    unit: str = "x"

    @property
    def value(self) -> float:
        """The number that is compared with the limit."""
        return self.measured.median if isinstance(self.measured, Spread) else self.measured

    def verdict(self) -> str:
        """Met, or missed by how much, and whether the rounds disagreed on it."""
        if self.measured is None:
            return "not measured: peer not installed"
        if self.value >= self.limit if self.at_least else self.value <= self.limit:
            verdict = "met"
        elif self.unit.strip() == "%":
            verdict = f"missed by {abs(self.value - self.limit):.3g} points"
        else:
            factor = self.limit / self.value if self.at_least else self.value / self.limit
            verdict = f"missed by {factor:.2f} x"
        return verdict + (" (rounds disagree)" if self._straddles() else "")

    def row(self) -> list[str]:
        """Target, measured, verdict."""
        sign = ">=" if self.at_least else "<="
        name = f"{self.name} {sign} {self.limit:g}{self.unit}"
        return [name, number(self.measured, self.unit), self.verdict()]

    def _straddles(self) -> bool:
        spread = self.measured
        return isinstance(spread, Spread) and spread.low < self.limit < spread.high


class Report:
    """Collects targets while it prints; `close` lists them all."""

    def __init__(self):
        self.targets: list[Target] = []

    def section(self, title: str, *notes: str) -> None:
        """Start a section."""
        self.line(f"\n## {title}", *notes)

    def line(self, *lines: str) -> None:
        """Print lines, by default an empty one, without breaking the progress bar."""
        tqdm.write("\n".join(lines))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print aligned columns."""
        lines = [list(header), *map(list, rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
        lines.insert(1, ["-" * width for width in widths])
        for line in lines:
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            self.line(" | ".join(cells).rstrip())

    def races(self, races: dict[str, Race], reference: str, *, overhead: bool = False) -> None:
        """Print a column for each race: median of the time over the reference, or its excess."""
        names = dict.fromkeys(name for race in races.values() for name in race.seconds)
        rows = [
            [name, *(_cell(race, name, reference, overhead) for race in races.values())]
            for name in names
            if not (overhead and name == reference)
        ]
        times = [f"{race.milliseconds(reference):.3g} ms" for race in races.values()]
        title = f"overhead over {reference}" if overhead else f"time, {reference} = 1"
        self.table([title, *races], [*rows, [f"({reference}, one call)", *times]])

    def target(self, *targets: Target) -> None:
        """Print targets and keep them for the summary."""
        self.targets += targets
        self.line()
        self._targets(list(targets))

    def close(self) -> None:
        """List all targets measured so far, and at the end those that were missed."""
        self.section("All targets")
        self._targets(self.targets)
        missed = [target for target in self.targets if target.verdict().startswith("missed")]
        met = sum(target.verdict().startswith("met") for target in self.targets)
        self.section(f"{met} of {len(self.targets)} met, {len(missed)} missed")
        self._targets(missed)

    def _targets(self, targets: list[Target]) -> None:
        if targets:
            self.table(["target", "measured", "verdict"], [target.row() for target in targets])


def number(value: Spread | float | None, unit: str = "") -> str:
    """A measurement with its spread, or a word where there is none."""
    if value is None:
        return ABSENT
    if isinstance(value, Spread):
        return f"{value.median:.3g}{unit} ({value.low:.3g}-{value.high:.3g})"
    return f"{value:.6g}{unit}"


def percent_over(ratio: Spread | None) -> Spread | None:
    """A ratio of times as an overhead in percent."""
    return ratio and ratio.map(lambda r: 100 * (r - 1))


def _cell(race: Race, name: str, reference: str, overhead: bool) -> str:
    if name not in race.seconds:
        return "-"
    ratio = race.ratio(name, reference)
    return number(percent_over(ratio), " %") if overhead else number(ratio)
