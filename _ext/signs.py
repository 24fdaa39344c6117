"""Signs as a printer sets them, where code wrote what a keyboard has.

"-0.5" becomes "−0.5" and "0.00" has no sign, "'the' isn't" gets curly quotes, "<= 4x" becomes
"≤ 4×", and a percent sign stands at its number. That is in tables, in the lines of seals, in the
words of figures and questions. What is code, or was printed, stays as it is: it may be copied. So
do the outputs in the notebooks, which are compared.
"""

import re

from sphinx.application import Sphinx

MINUS = "\N{MINUS SIGN}"
NEGATIVE = re.compile(r"(?<![\w.)\-])-(\d[\d,]*(?:\.\d+)?)")
QUOTE, QUOTES = "(?:'|&#39;|&#x27;)", '(?:"|&quot;)'
OPENS = r"(?:^|(?<=[\s(\[]))%s(?=\S)"
SIGNS = {  # what is written -> what is set
    "<=|&lt;=": "\N{LESS-THAN OR EQUAL TO}",
    ">=|&gt;=": "\N{GREATER-THAN OR EQUAL TO}",
    r"(?<![\w.])(\d+(?:\.\d+)?)x(?!\w)": "\\1\N{MULTIPLICATION SIGN}",
    "(?<=\\d)[ \N{NO-BREAK SPACE}]%": "%",
    rf"^{QUOTE}(?=s\b)": "\N{RIGHT SINGLE QUOTATION MARK}",  # the rest of "<em>cat</em>'s"
    OPENS % QUOTE: "\N{LEFT SINGLE QUOTATION MARK}",
    QUOTE: "\N{RIGHT SINGLE QUOTATION MARK}",
    OPENS % QUOTES: "\N{LEFT DOUBLE QUOTATION MARK}",
    QUOTES: "\N{RIGHT DOUBLE QUOTATION MARK}",
}
KEPT = r'<(pre|code|style)\b.*?</\1>|<span class="pre">.*?</span>'
GIVEN = r'(?P<given><script type="application/json">.*?</script>)'
PARTS = re.compile(rf"{KEPT}|{GIVEN}|<script\b.*?</script>|(?<=>)(?P<text>[^<]+)", re.DOTALL)
WORDS = re.compile(r'"(?=[^"\\<]*[a-z]{2} )([^"\\<]*)"(?!\s*:)')  # among what a figure is given


def minus(text: str) -> str:
    """The same text with minus signs before its negative numbers, and none before a zero."""
    return NEGATIVE.sub(lambda found: found[1] if _zero(found[1]) else MINUS + found[1], text)


def _zero(number: str) -> bool:
    return not number.strip("0.,")


def printed(text: str) -> str:
    """The same text with all its signs set."""
    text = minus(text)
    for written, sign in SIGNS.items():
        text = re.sub(written, sign, text)
    return text


def set_signs(body: str) -> str:
    """The same page, with the signs in its words set."""

    def one(part: re.Match) -> str:
        if part["text"]:
            return printed(part[0])
        if part["given"]:
            return WORDS.sub(lambda words: f'"{printed(words[1])}"', part[0])
        return part[0]

    return PARTS.sub(one, body)


def mend(app: Sphinx, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Set the signs of a page."""
    context["body"] = set_signs(context.get("body", ""))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
