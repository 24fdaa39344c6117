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
from sphinx.application import Sphinx


class Labels(BaseLabelStyle):
    """One author, two, or the first of many; and the year."""

    def format_labels(self, sorted_entries: Iterable[Entry]) -> Iterator[str]:
        """A label for each paper."""
        for entry in sorted_entries:
            names = [" ".join([*p.prelast_names, *p.last_names]) for p in entry.persons["author"]]
            shown = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
            yield f"{shown}, {entry.fields['year']}".replace("{", "").replace("}", "")


class Style(Plain):
    """The usual entries under these labels."""

    default_label_style = Labels
    default_sorting_style = "author_year_title"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the style."""
    register_plugin("pybtex.style.formatting", "author_year", Style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
