"""List the papers as the text cites them: by authors and year, in alphabetical order.

```{bibliography}
:style: author_year
```
"""

from collections.abc import Iterable, Iterator

from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as Plain
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.sorting import BaseSortingStyle
from sphinx.application import Sphinx


def label(entry: Entry) -> str:
    """One author, two, or the first of many; and the year."""
    names = [
        " ".join(map(str, [*person.rich_prelast_names, *person.rich_last_names]))
        for person in entry.persons["author"]
    ]
    shown = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{shown}, {entry.fields['year']}"


class Labels(BaseLabelStyle):
    """What the text says when it cites."""

    def format_labels(self, sorted_entries: Iterable[Entry]) -> Iterator[str]:
        """A label for each paper."""
        return map(label, sorted_entries)


class Order(BaseSortingStyle):
    """By what is shown, whether people wrote it or a team."""

    def sort(self, entries: Iterable[Entry]) -> list[Entry]:
        """The papers in the order of their labels."""
        return sorted(entries, key=lambda entry: label(entry).lower())


class Style(Plain):
    """The usual entries under these labels."""

    default_label_style = Labels
    default_sorting_style = Order


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the style."""
    register_plugin("pybtex.style.formatting", "author_year", Style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
