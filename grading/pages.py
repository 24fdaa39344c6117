"""Pages for the instructor: the whole class, and one written question across all students."""

import math
import statistics
from collections import defaultdict
from dataclasses import dataclass

from grading import rendered
from grading.assignment import Asked, Assignment
from grading.feedback import TEMPLATES
from grading.marks import Graded, Mark
from grading.names import slug
from grading.similar import Alike
from posenc.check.calls import UNANSWERED

_BARS = 10  # or one more, for all points


@dataclass(frozen=True)
class Summary:
    """A question, as the class answered it.

    Args:
        asked: the question.
        mean: points on average, None if nobody has given any.
        full: how many got all of them.
        nothing: how many got none.
        unanswered: how many of these did not answer.
        misconceptions: name and hint of each that was met, and whose answers look like it; the
            most frequent one first.
    """

    asked: Asked
    mean: float | None
    full: int
    nothing: int
    unanswered: int
    misconceptions: list[tuple[str, str, list[str]]]


def summary(marks: list[tuple[str, Mark]]) -> Summary:
    """What the marks for one question say, given with the students' names."""
    asked = marks[0][1].asked
    scores = [mark.score for _, mark in marks if mark.score is not None]
    return Summary(
        asked,
        statistics.fmean(scores) if scores else None,
        sum(score == asked.points for score in scores),
        sum(score == 0 for score in scores),
        sum(map(_is_unanswered, (mark for _, mark in marks))),
        _misconceptions(marks),
    )


def _is_unanswered(mark: Mark) -> bool:
    """A cell with bugs to be mended is no answer as long as it is as it was handed out."""
    parts = [part for verdict in mark.verdicts for part in verdict["parts"]]
    nothing = all(part["fault"] == UNANSWERED for part in parts)
    return not mark.answer if mark.asked.written else nothing or (mark.untouched and not mark.score)


def _misconceptions(marks: list[tuple[str, Mark]]) -> list[tuple[str, str, list[str]]]:
    found = defaultdict(list)
    for student, mark in marks:
        if _is_unanswered(mark):
            continue
        met = {(v["misconception"], v["hint"]) for v in mark.verdicts if v["misconception"]}
        for name_and_hint in sorted(met):
            found[name_and_hint].append(student)
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return [(name, hint, students) for (name, hint), students in ranked]


def distribution(totals: list[float], possible: float) -> list[tuple[str, int]]:
    """How many students have how many points: a label in whole points and a number for each bar.

    Example:
        >>> distribution([0, 1.5, 3], 3)
        [('0', 1), ('1', 1), ('2', 0), ('3', 1)]
    """
    width = max(1, math.ceil(possible / _BARS))
    lows = range(0, math.floor(possible) + 1, width)
    counts = [0] * len(lows)
    for total in totals:
        counts[min(max(int(total // width), 0), len(lows) - 1)] += 1
    ends = [min(low + width - 1, math.floor(possible)) for low in lows]
    labels = [
        f"{low} to {end}" if end > low else f"{low}" for low, end in zip(lows, ends, strict=True)
    ]
    return list(zip(labels, counts, strict=True))


def class_page(assignment: Assignment, marked: list[Graded], alike: Alike) -> str:
    """Distribution, questions, misconceptions, what to look at, and who resembles whom."""
    counted = [one for one in marked if not one.ungraded]
    totals, possible = [one.total for one in counted], marked[0].possible
    questions = range(len(marked[0].marks))
    return TEMPLATES.get_template("class.html.j2").render(
        title=assignment.title,
        marked=counted,
        others=[one for one in marked if one.ungraded],
        possible=possible,
        mean=statistics.fmean(totals) if totals else 0,
        median=statistics.median(totals) if totals else 0,
        pending=sum(len(one.pending) for one in counted),
        bars=distribution(totals, possible),
        summaries=[summary([(o.student, o.marks[i]) for o in counted]) for i in questions]
        if counted
        else [],
        alike=alike.pairs,
        uncompared=alike.uncompared,
        slug=slug,
    )


def answers_page(
    assignment: Assignment, asked: Asked, marked: list[Graded]
) -> tuple[str, dict[str, bytes]]:
    """One written question: its text and rubric, and beside them every answer.

    Returns:
        The page, and the pictures in its answers: files beside it, since those of a class are many.
    """
    marks = {one.student: mark for one in marked if not one.fault for mark in one.marks
             if mark.asked.name == asked.name}  # fmt: skip
    pictures: dict[str, bytes] = {}
    page = TEMPLATES.get_template("answers.html.j2").render(
        title=assignment.title,
        asked=asked,
        prompt=rendered.page_part([(asked.prompt.partition("\n")[2], {})]),
        rubric=rendered.page_part([(asked.rubric, {})]),
        answers=[
            (student, mark, rendered.linked(mark.shown, slug(asked.name), pictures))
            for student, mark in marks.items()
        ],
    )
    return page, pictures
