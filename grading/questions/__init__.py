"""What the instructor keeps: right answers, hidden cases and misconceptions, one file a chapter.

The package `posenc` holds only what `grading.record` writes of this: the visible cases, as numbers.
"""

from grading.questions import (
    chapter_1,
    chapter_2,
    chapter_3,
    chapter_4,
    chapter_5,
    chapter_6,
    chapter_7,
    chapter_8,
    chapter_9,
)

CHAPTERS = (
    chapter_1,
    chapter_2,
    chapter_3,
    chapter_4,
    chapter_5,
    chapter_6,
    chapter_7,
    chapter_8,
    chapter_9,
)
