"""Tables and questions answered by hand: what they show, and what they refuse.

How a question works in a browser is in test_site.py.
"""

import io
import json
import math
import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from browser import settle
from bs4 import BeautifulSoup
from PIL import Image

from posenc import report_card
from posenc.show import card_table, guess_angle, guess_curve, guess_point, table

AGAIN = "or draw once more over what is wrong"
CURVE = {"xlabel": "x", "ylabel": "y", "ylim": (-1, 1), "within": 0.1, "says": "So."}
PHONE = "<meta name='viewport' content='width=device-width'>"
SHORT = {"xlabel": "x", "within": 2, "says": "So."}
POINT = {"low": 1, "high": 100, "xlabel": "x", "within": 2, "says": "So."}


def soup(shown):
    return BeautifulSoup(shown._repr_html_(), "html.parser")


def data(guess):
    return json.loads(soup(guess).select_one("script[type='application/json']").text)


class TestTable:
    rows = (["rotary", 64, 0.913, "a < b"], ["none", 1024, 0.125, "-"])
    table = table(rows, columns=["method", "length", "right", "note"], caption="Right & wrong.")

    def test_is_a_table_with_headers_and_a_caption(self):
        html = soup(self.table)
        assert html.caption.text == "Right & wrong."
        assert [c["scope"] for c in html.select("thead th")] == ["col"] * 4
        assert [c.text for c in html.select("tbody th[scope=row]")] == ["rotary", "none"]
        assert [c.text for c in html.select("tbody td")] == [
            "64", "0.91", "a < b", "1024", "0.12", "-",
        ]  # fmt: skip
        sides = [re.search(r"\w+$", c["style"])[0] for c in html.select("thead th")]
        assert sides == ["left", "right", "right", "left"]

    def test_a_dash_among_numbers_leaves_them_at_the_right(self):
        dash = "\u2013"
        shown = table([["a", 1.5, dash], ["b", dash, "x"]], columns=["", "b", "c"], caption="c")
        sides = [re.search(r"\w+$", c["style"])[0] for c in soup(shown).select("tr > *")]
        assert sides == ["left", "right", "left"] * 3

    def test_a_word_among_numbers_leaves_them_at_the_right(self):
        rows = [
            ["a", "\u22120.1 to +0.2", "26"],
            ["b", "+0.4 to +0.5", "memory"],
            ["c", "> 9", "27"],
        ]
        cells = soup(table(rows, columns=["", "by", "of"], caption="c")).select("td")
        assert {cell["style"] for cell in cells} == {"text-align:right"}

    def test_numbers_with_their_settings_stand_left_as_words_do(self):
        rows = [["a", "0.016 (base=30)"], ["b", "0.03 (std=1)"], ["c", "0.5"]]
        cells = soup(table(rows, columns=["", "chosen"], caption="c")).select("td")
        assert {cell["style"] for cell in cells} == {"text-align:left"}

    def test_differences_are_drawn_on_the_scale_of_the_table(self):
        entries = ["+0.50 ± 0.10", "\u22120.50 ± 0.50"], ["+0.20 (\u22120.10 to +1.00)", "-"]
        rows = [[name, *some] for name, some in zip("ab", entries, strict=True)]
        shown = soup(table(rows, columns=["", "b", "c"], caption="c"))
        assert shown.table["style"] == "--zero:0.500"  # from -1 to 1, and a little beyond
        drawn = [re.findall(r"[\d.]+", span["style"]) for span in shown.select("td > .span")]
        assert drawn == [  # low, middle and high
            ["0.689", "0.736", "0.783"],
            ["0.028", "0.264", "0.500"],
            ["0.453", "0.594", "0.972"],
        ]
        cells = shown.select("tbody td")
        assert [cell.text for cell in cells] == [*entries[0], *entries[1]]
        assert [cell.get("data-of") for cell in cells] == ["b", "c", "b", None]
        ticks = [(tick["data-at"], tick["style"]) for tick in shown.select("tfoot [data-at]")]
        assert ticks == [("\u22121", "--at:0.028"), ("0", "--at:0.500"), ("1", "--at:0.972")]

    def test_a_difference_says_what_it_is_of_and_ends_with_a_verdict(self):
        told = ["at 1: +0.44 ± 0.13, beats", "at 2: -0.12 ± 0.10, loses", "at 3: +0.75"]
        shown = soup(table([["a", *told]], columns=["", "b", "c", "d"], caption="c"))
        cells = shown.select("tbody td")
        assert [cell["class"] for cell in cells] == [["above"], ["below"], ["open"]]
        assert [cell.text for cell in cells] == [
            "at 1 +0.44 ± 0.13 beats", "at 2 -0.12 ± 0.10 loses", "at 3 +0.75",
        ]  # fmt: skip
        assert [cell.get("data-of") for cell in cells] == [None] * 3

    def test_numbers_without_an_interval_are_no_differences(self):
        shown = soup(table([["a", "+0.44", -0.5]], columns=["", "b", "c"], caption="c"))
        assert not shown.select(".span, .differences")

    def test_is_text_where_there_is_no_html(self):
        assert repr(self.table).splitlines() == [
            "Right & wrong.",
            "method  length  right  note",
            "rotary      64   0.91  a < b",
            "none      1024   0.12  -",
        ]

    def test_a_note_stands_below(self):
        shown = table([["a", 1]], columns=["", "b"], caption="c", note="so < so")
        assert repr(shown).splitlines() == ["c", "   b", "a  1", "so < so"]
        assert soup(shown).select_one("table + p.note").text == "so < so"
        assert not soup(self.table).select(".note")

    def test_digits_are_those_asked_for(self):
        shown = table([["a", 0.12345]], columns=["", "b"], caption="c", digits=4)
        assert "0.1235" in repr(shown) or "0.1234" in repr(shown)

    def test_shares_are_coloured_by_their_size(self):
        shown = table(
            [["a", 1.0, 2], ["b", 0.5, 3]], columns=["", "s", "n"], caption="c", shares=True
        )
        style = [cell["style"] for cell in soup(shown).select("td")]
        assert ["36%" in style[0], "18%" in style[2]] == [True, True]
        assert style[1] == style[3] == "text-align:right"
        assert repr(shown) == repr(
            table([["a", 1.0, 2], ["b", 0.5, 3]], columns=["", "s", "n"], caption="c")
        )

    @pytest.mark.parametrize("share", [1.01, -0.01])
    def test_what_is_no_share_is_refused(self, share):
        with pytest.raises(ValueError, match="shares from 0 to 1"):
            table([["a", share]], columns=["", "s"], caption="c", shares=True)
        table([["a", share]], columns=["", "s"], caption="c")

    @pytest.mark.parametrize("rows", [[], [["a"]], [["a", 1], ["b", 2, 3]]])
    def test_rows_must_fit_the_columns(self, rows):
        with pytest.raises(ValueError, match="rows must"):
            table(rows, columns=["a", "b"], caption="c")


class TestCardTable:
    card = report_card(lambda p: torch.eye(128)[p])
    table = card_table(
        {"one-hot": card, "count": report_card(lambda p: p[:, None] / 9)}, caption="c"
    )

    def test_says_what_is_wanted_and_what_is_met(self):
        html = soup(self.table)
        assert [c.text for c in html.select("thead th")] == ["wish", "wanted", "one-hot", "count"]
        rows = [[c.text for c in row.select("th, td")] for row in html.select("tbody tr")]
        assert [row[:2] for row in rows[:3]] == [
            ["unique", "> 0.001"], ["bounded", "\u2264 1.05"], ["deterministic", "< 0.001"],
        ]  # fmt: skip
        assert [row[2] for row in rows] == [
            f"{'' if grade.passed else 'NO '}{grade.value:.2g}" for grade in self.card.grades
        ]
        assert [row[3] for row in rows[1:3]] == ["NO 4", "0"]

    def test_what_is_broken_has_another_ground_than_what_is_met(self):
        cells = soup(self.table).select("tbody td:nth-child(n + 3)")
        grounds = [(c.text[:2], re.search(r"--book-(\w+)", c["style"])[1]) for c in cells]
        assert {tone for text, tone in grounds if text == "NO"} == {"red"}
        assert {tone for text, tone in grounds if text != "NO"} == {"teal"}

    def test_refuses_no_card(self):
        with pytest.raises(ValueError, match=r"cards must not be empty, got \{\}"):
            card_table({}, caption="c")


class TestGuess:
    def test_a_curve_is_drawn_and_handed_over_in_shares_of_its_axes(self):
        guess = guess_curve(torch.tensor([2, 4, 10]), torch.tensor([1.0, 0.0, -1.0]), **CURVE)
        assert data(guess)["truth"] == [1, 0.5, 0]
        assert data(guess)["places"] == [0, 0.25, 1]
        assert data(guess)["unit"] == 2
        path = soup(guess).select_one("path.truth")["d"]
        points = [tuple(map(float, p.split(","))) for p in path[1:].split("L")]
        left, top, width, height = data(guess)["boxes"]["wide"]
        assert points == [
            (left, top),
            (left + width / 4, top + height / 2),
            (left + width, top + height),
        ]

    @pytest.mark.parametrize(("log", "share"), [(False, 9 / 99), (True, 0.5)])
    def test_a_point_stands_where_its_axis_has_it(self, log, share):
        guess = guess_point(10, **POINT, log=log)
        assert data(guess)["truth"] == pytest.approx(share)
        assert data(guess)["unit"] == pytest.approx(math.log(100) if log else 99)

    def test_a_point_waits_at_the_low_end_and_not_on_an_answer(self):
        (slider,) = soup(guess_point(50.5, **POINT)).select("input")
        assert float(slider["value"]) == 0

    @pytest.mark.parametrize(
        ("angle", "end"), [(0, (0, -1)), (math.pi / 2, (1, 0)), (5 * math.pi, (0, 1))]
    )
    def test_a_hand_turns_clockwise_from_12(self, angle, end):
        path = soup(guess_angle(angle, within=0.3, says="")).select_one("path.truth")["d"]
        x, y = map(float, path.rpartition("l")[2].split(","))
        assert (x / 110, y / 110) == pytest.approx(end, abs=1e-3)

    def test_the_answer_stands_there_before_any_script(self):
        for guess, said in (
            (guess_curve([0, 1], [0, 1], **CURVE), "So."),
            (guess_point(10, **POINT), "It is 10. So."),
            (guess_angle(1.0, within=0.3, says="So."), "It is 0.16 of a turn. So."),
        ):
            html = soup(guess)
            assert not html.select_one("path.truth").has_attr("hidden")
            assert html.select_one(".answer > .said").text == said
            assert html.select_one(".controls").has_attr("hidden")

    def test_without_scripts_the_answer_waits_in_a_fold_and_stands_on_paper(self, browser):
        page = browser.new_context(java_script_enabled=False).new_page()
        for guess in (guess_curve([0, 1], [0, 1], **CURVE), guess_point(10, **POINT)):
            page.set_content(guess._repr_html_())
            said, truth = page.locator(".said"), page.locator(".wide .truth")
            for way in ("screen", "print"):
                page.emulate_media(media=way)
                told = said.is_visible(), bool(truth.bounding_box())
                assert told == (way == "print",) * 2
            page.emulate_media(media="screen")
            page.get_by_text("Answer").click()
            assert said.is_visible()
            assert truth.bounding_box()
        page.context.close()

    def test_words_cannot_end_the_script_that_holds_them(self):
        guess = guess_angle(1.0, within=0.3, says="</script><b>")
        assert data(guess)["says"] == "</script><b>"
        assert not soup(guess).select("b")

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: guess_curve([0, 1], [0], **CURVE), "same length.*2 and 1"),
            (lambda: guess_curve([0], [0], **CURVE), "same length"),
            (lambda: guess_curve([0, 0], [0, 1], **CURVE), "x must rise"),
            (lambda: guess_curve([0, 1], [0, 1], **CURVE, log=True), "x must be positive.*got 0"),
            (lambda: guess_curve([0, 1], [0, 2], **CURVE), "ylim must hold the truth, 0 to 2"),
            (lambda: guess_curve([0, 1], [0, math.nan], **CURVE), "finite"),
            (lambda: guess_curve([0, 1], torch.zeros(2, 1), **CURVE), "truth must be a row"),
            (lambda: guess_curve([0, 1], [0, 1], **CURVE, knots=1), "knots must.*got 1"),
            (lambda: guess_point(1, **POINT), "truth must be between low and high.*got 1"),
            (lambda: guess_point(5, **{**POINT, "low": 0}, log=True), "low must be positive"),
            (lambda: guess_point(5, **{**POINT, "within": 1}, log=True), "factor above 1"),
            (lambda: guess_point(5, **{**POINT, "within": 0}), "within must be positive, got 0"),
            (lambda: guess_angle(1, within=-1, says=""), "within must be positive, got -1"),
        ],
    )
    def test_mistakes_are_named(self, call, message):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.fixture(scope="module")
def window(browser):
    """Opens an empty page of a size, in one window: a new one costs more than most tests."""
    page = browser.new_page()

    def empty(width=1280, height=720):
        page.mouse.move(0, 0)
        page.goto("about:blank")
        page.emulate_media(media="null")
        page.set_viewport_size({"width": width, "height": height})
        return page

    yield empty
    page.close()


def compared(window, guess, shares):
    """What the page says when these shares of the axis are compared with the truth."""
    page = window()
    page.set_content(guess._repr_html_())
    page.locator("details").evaluate_all("(all) => all.forEach((e) => (e.open = true))")
    for slider, share in zip(page.locator(".guess input").all(), shares, strict=True):
        assert page.locator("button").is_disabled()  # until all is set
        slider.evaluate("(e, to) => { e.value = to; e.dispatchEvent(new Event('input')); }", share)
    numbers = page.locator("output").all_inner_texts()
    page.locator("button").click()
    said = page.locator(".said").inner_text()
    return numbers, said


class TestComparing:
    def test_a_curve_that_is_near_but_misses_the_rise_is_not_right(self, window):
        wave = {"xlabel": "x", "ylabel": "score (nats)", "ylim": (0, 1), "within": 0.2, "says": ""}
        guess = guess_curve([0, 1, 2, 3], [0.9, 0.3, 0.6, 0.3], knots=4, **wave)
        said = compared(window, guess, [0.9, 0.6, 0.5, 0.3])[1]
        assert said == (
            "Not quite: you are off by 0.1 nats on average, and the true curve rises where yours "
            "does not."
        )
        assert compared(window, guess, [0.9, 0.5, 0.6, 0.4])[1].startswith("Close enough: ")
        assert compared(window, guess, [0.1, 0.9, 0.9, 0.9])[1].startswith("Not quite: ")
        assert compared(window, guess, [0.1, 1, 1, 1])[1].startswith("Far off: ")

    @pytest.mark.parametrize("motion", ["no-preference", "reduce"])
    def test_the_true_curve_is_drawn_where_motion_is_wanted_and_only_at_once(self, window, motion):
        wave = {"xlabel": "x", "ylabel": "y", "ylim": (0, 1), "within": 0.2, "says": ""}
        guess = guess_curve([0, 1, 2], [0.9, 0.3, 0.6], knots=3, **wave)
        page = window()
        page.emulate_media(reduced_motion=motion)
        page.set_content(guess._repr_html_())
        name = "() => getComputedStyle(document.querySelector('.guess .truth')).animationName"
        restore = "new CustomEvent('guess:restore', { detail: [0.9, 0.6, 0.5] })"
        page.evaluate(f"document.querySelector('.guess').dispatchEvent({restore})")
        assert page.evaluate(name) == "none"  # as it was left
        page.set_content(guess._repr_html_())
        for slider in page.locator(".guess input").all():
            slider.evaluate("(e) => { e.value = 0.5; e.dispatchEvent(new Event('input')); }")
        page.locator("button").click()
        assert page.evaluate(name) == {"reduce": "none"}.get(motion, "guess-drawn")

    def test_the_number_set_stands_beside_its_slider_and_then_beside_the_true_one(self, window):
        look = {"low": 1, "high": 1_000_000, "log": True, "within": 2, "says": "So."}
        guess = guess_point(1000, xlabel="length (words)", **look)
        assert compared(window, guess, [0.5]) == (["1,000"], "Right: it is 1,000 words. So.")
        far = "Far off: it is 1,000 words, and you said 1,000,000. So."
        assert compared(window, guess, [1])[1] == far
        numbers, said = compared(window, guess_angle(math.pi, within=0.3, says=""), [0.25])
        assert numbers == ["0.25 of a turn"]
        assert said == "Far off: it is 0.5 of a turn, and you said 0.25 of a turn."

    @pytest.mark.parametrize(
        ("guess", "says"),
        [
            (guess_curve([0, 1], [0, 1], **CURVE), "So."),
            (guess_point(10, **POINT), "It is 10. So."),
            (guess_angle(1.0, within=0.3, says="So."), "It is 0.16 of a turn. So."),
        ],
    )
    def test_who_asks_without_an_answer_sees_the_truth_alone(self, window, guess, says):
        page = window()
        page.set_content(guess._repr_html_())
        page.locator("input").first.evaluate("(e) => e.dispatchEvent(new Event('input'))")
        page.locator(".guess").evaluate("(e) => e.dispatchEvent(new Event('guess:show'))")
        assert page.locator(".said").inner_text() == says
        assert not page.locator(".controls").is_visible()
        parts = page.locator(".wide").evaluate(
            """(e) => [...e.querySelectorAll("[class]:not(.axes, [hidden])")]
              .map((part) => part.classList[0])"""
        )
        assert parts == ["truth", "is"]

    def test_whole_numbers_are_answered_by_whole_numbers(self, window):
        guess = guess_point(9, low=0, high=30, xlabel="pairs", within=1, says="")
        assert compared(window, guess, [0.28]) == (["8"], "Close enough: it is 9, and you said 8.")
        assert compared(window, guess, [0.31])[1] == "Right: it is 9."
        between = guess_point(9.5, low=0, high=30, xlabel="pairs", within=1, says="")
        assert compared(window, between, [0.31])[0] == ["9.3"]
        far = guess_point(40, low=1, high=500, xlabel="position", log=True, within=2, says="")
        assert compared(window, far, [0.1]) == (["2"], "Far off: it is 40, and you said 2.")

    @pytest.mark.parametrize(
        ("said", "grade"),
        [(555, "Right"), (640, "Close enough"), (780, "Not quite"), (153, "Far off")],
    )
    def test_a_place_has_grades(self, window, said, grade):
        guess = guess_point(555, low=0, high=998, xlabel="x", within=100, says="")
        assert compared(window, guess, [said / 998])[1].startswith(f"{grade}: it is 555")

    def test_what_is_not_set_looks_like_a_slider_and_a_button(self, window):
        page = window(900, 800)
        page.set_content(guess_angle(1.0, within=0.3, says="So.")._repr_html_())
        slider, button = page.locator("input"), page.locator("button")
        picture = Image.open(io.BytesIO(slider.screenshot())).convert("L")
        ink = [
            sum(picture.getpixel((x, y)) < 250 for y in range(picture.height))
            for x in range(picture.width)
        ]
        assert min(ink[30:-20]) >= 6  # a bar along all of it
        ring = [x for x in range(picture.width) if picture.getpixel((x, 3)) < 250]
        assert ring  # above the bar, at the end where the axis begins
        assert max(ring) < 24
        assert button.evaluate("(e) => getComputedStyle(e).borderStyle") != "dashed"

    @pytest.mark.parametrize(
        ("low", "high", "log", "ends"),
        [
            (0, 31, False, ("0", "31")),
            (32, 4096, True, ("32", "4,096")),
            (6, 1_000_000, True, ("6", "1M")),
            (-4.5, 0.5, False, ("\N{MINUS SIGN}4.5", "0.5")),
        ],
    )
    def test_both_ends_of_an_axis_have_their_number(self, window, low, high, log, ends):
        guess = guess_point((low + high) / 2, low=low, high=high, log=log, **SHORT)
        for kind, width in (("wide", 900), ("phone", 390)):
            if (kind, low) == ("phone", -4.5):
                continue  # see below
            page = window(width, 800)
            page.set_content(guess._repr_html_())
            ticks = page.locator(f"svg.{kind} > text:not(.you, .is, .hint)").all()[:-1]  # its label
            told = [tick.text_content() for tick in ticks]
            assert (told[0], told[-1]) == ends
            boxes = [tick.bounding_box() for tick in ticks]
            for left, right in pairwise(boxes):
                assert right["x"] - left["x"] - left["width"] > 3

    @pytest.mark.parametrize(
        ("low", "high", "told"),
        [
            (0, 200, "0 40 80 120 160 200"),
            (-4.5, 0.5, "-4 -3 -2 -1 0 0.5"),  # the end goes
            (0, 133, "0 30 60 90 120"),
            (-700_000, 300_000, "-400,000 0 300k"),  # each second
        ],
    )
    def test_the_numbers_of_a_phones_axis_are_evenly_apart_and_0_is_one(self, low, high, told):
        guess = guess_point((low + high) / 3, low=low, high=high, **SHORT)
        texts = soup(guess).select("svg.phone > text:not(.you, .is, .hint)")[:-1]
        assert " ".join(t.text for t in texts).replace("\N{MINUS SIGN}", "-") == told

    @pytest.mark.parametrize("shares", [[None], [0.5]], ids=["untouched", "placed"])
    def test_what_is_not_set_is_neither_shown_nor_compared(self, window, shares):
        page = window()
        page.set_content(
            guess_point(15, low=0, high=30, xlabel="x", within=1, says="")._repr_html_()
        )
        picture, said = page.locator("svg.wide"), page.locator(".said")
        if shares[0]:
            box = picture.bounding_box()
            page.mouse.click(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.4)
        unset = not shares[0]
        assert (
            picture.locator(".hint").is_visible() == page.locator("button").is_disabled() == unset
        )
        assert picture.locator(".waiting").is_visible() == unset
        assert not page.locator(".you, .is").locator("visible=true").count()
        assert (page.locator("output").inner_text() == "") == unset
        assert picture.locator(".mine").evaluate("(line) => line.checkVisibility()") != unset
        assert page.locator("input").get_attribute("aria-valuetext") == (
            "not set" if unset else "12"
        )
        page.locator("button").evaluate("(button) => button.click()")  # disabled: it does nothing
        assert (said.inner_text() == "") == unset
        assert page.locator(".you, .is").locator("visible=true").count() == (0 if unset else 2)

    @pytest.mark.parametrize("width", [360, 900])
    @pytest.mark.parametrize("log", [False, True])
    def test_the_slider_of_a_place_lies_unseen_on_its_axis(self, window, width, log):
        kind = "phone" if width < 480 else "wide"
        page = window(width, 800)
        page.set_content(guess_point(10, **{**POINT, "low": 0.5}, log=log)._repr_html_())
        slider, mine = page.locator("input"), page.locator(f".{kind} .mine")
        axis = page.locator(f".{kind} .axes").bounding_box()
        picture = page.locator(f"svg.{kind}").bounding_box()
        assert slider.evaluate("(e) => getComputedStyle(e).opacity") == "0"
        for share in (0.0, 0.3, 1.0):
            slider.fill(str(share))
            track, mark = slider.bounding_box(), mine.bounding_box()
            place = mark["x"] + mark["width"] / 2
            assert place == pytest.approx(axis["x"] + share * axis["width"], abs=2)
            assert track["x"] - 8 <= place <= track["x"] + track["width"] + 8
            assert picture["y"] <= track["y"] < picture["y"] + picture["height"]

    def test_no_ring_covers_a_number_and_no_word_leaves_the_picture(self, window):
        for kind, width in (("wide", 900), ("phone", 390)):
            page = window(width, 800)
            page.set_content(guess_curve([0, 1], [0.5, 0.5], knots=5, **CURVE)._repr_html_())
            ring = page.locator(f"svg.{kind} .waiting").bounding_box()
            numbers = page.locator(f"svg.{kind} text[text-anchor=end]").all()
            lefts = [box for box in (n.bounding_box() for n in numbers) if box["x"] < ring["x"]]
            assert len(lefts) > 2
            assert all(box["x"] + box["width"] < ring["x"] - 3 for box in lefts)
            page.locator("summary").click()
            for slider in page.locator("input").all():
                slider.fill("0.7")
            page.get_by_role("button").click()
            picture = page.locator(f"svg.{kind}").bounding_box()
            for word in page.locator(f"svg.{kind} :is(.you, .is)").all():
                box = word.bounding_box()
                assert box["x"] + box["width"] <= picture["x"] + picture["width"]

    def test_a_phone_has_a_picture_that_a_finger_can_draw_on(self, window):
        page = window(390, 800)
        page.set_content(guess_curve([0, 1], [0.5, 0.5], knots=5, **CURVE)._repr_html_())
        picture, mine = page.locator("svg.phone"), page.locator(".phone .mine")
        assert picture.is_visible()
        assert page.locator("svg.wide").is_hidden()
        axes, box = picture.locator(".axes").last.bounding_box(), picture.bounding_box()
        assert axes["height"] >= 200  # pixels
        letters = picture.locator("text:not([hidden])")
        assert min(each.bounding_box()["height"] for each in letters.all()) >= 13
        page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.3 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 0.3 * box["height"], steps=9)
        page.mouse.up()
        spots = re.findall(r"(?:M|C\S+ \S+ )([\d.]+),([\d.]+)", mine.get_attribute("d"))
        height = box["height"] * 0.3 * 360 / box["width"]  # in units of the picture
        assert [float(y) for _, y in spots] == pytest.approx([height] * 5, abs=1)

    def test_what_is_drawn_has_no_corners_and_turns_only_at_its_points(self, window):
        page = window(900, 700)
        page.set_content(guess_curve([0, 1], [0.5, 0.5], knots=6, **CURVE)._repr_html_())
        heights = [0.1, 0.2, 0.8, 0.8, 0.3, 0.9]
        page.locator("details").evaluate("(details) => { details.open = true; }")
        for slider, height in zip(page.locator("input").all(), heights, strict=True):
            slider.fill(str(height))
        line = page.locator(".wide .mine").evaluate(
            """(line) => Array.from({ length: 2001 }, (_, k) => {
              const { x, y } = line.getPointAtLength(line.getTotalLength() * k / 2000);
              return [x, -y];
            })"""
        )
        x, y = np.array(line).T
        angle = np.unwrap(np.arctan2(np.diff(y), np.diff(x)))
        assert np.abs(np.diff(angle)).max() < 0.2  # of straight pieces 1 and more
        turns = x[1:-1][np.diff(np.sign(np.round(np.diff(y), 6))) != 0]
        width = x[-1] - x[0]
        at = np.unique(np.round(5 * (turns - x[0]) / width, 1))
        assert set(at) <= {2.0, 3.0, 4.0}

    @pytest.mark.parametrize("kind", ["curve", "point", "angle"])
    def test_a_finger_on_its_way_down_the_page_answers_nothing(self, browser, kind):
        guess = {
            "curve": lambda: guess_curve([0, 1], [0.5, 0.5], knots=5, **CURVE),
            "point": lambda: guess_point(30, **POINT),
            "angle": lambda: guess_angle(1.0, within=0.3, says="So."),
        }[kind]()
        phone = {"width": 390, "height": 500}
        page = browser.new_page(viewport=phone, has_touch=True, is_mobile=True)
        page.set_content(f"{PHONE}{guess._repr_html_()}<p style='height: 2000px'>")
        fingers = page.context.new_cdp_session(page)
        box = page.locator("svg.phone").bounding_box()
        start = box["x"] + 0.42 * box["width"], box["y"] + 0.6 * box["height"]

        def swipe(dx, dy):
            for step, what in enumerate(["touchStart", *["touchMove"] * 8, "touchEnd"]):
                at = {"x": start[0] + dx * step / 8, "y": start[1] + dy * step / 8}
                points = [] if what == "touchEnd" else [at]
                fingers.send("Input.dispatchTouchEvent", {"type": what, "touchPoints": points})
            settle(page)  # a page that was pushed glides on
            top = page.evaluate("scrollY")
            page.evaluate("scrollTo(0, 0)")
            return top, page.locator("input:not(.unset)").count()

        top, are_set = swipe(4, -150)
        assert top > 20
        assert are_set == 0
        top, are_set = swipe(90, 6)
        assert top == 0
        assert are_set == (3 if kind == "curve" else 1)
        page.close()

    @pytest.mark.parametrize("kind", ["curve", "point"])
    def test_a_tap_answers_and_a_ring_keeps_the_finger(self, browser, kind):
        curve = kind == "curve"
        guess = (
            guess_curve([0, 1], [0.5, 0.5], knots=5, **CURVE) if curve else guess_point(30, **POINT)
        )
        phone = {"width": 390, "height": 500}
        page = browser.new_page(viewport=phone, has_touch=True, is_mobile=True)
        page.set_content(f"{PHONE}{guess._repr_html_()}<p style='height: 2000px'>")
        box = page.locator("svg.phone .waiting").bounding_box()
        x, y = box["x"] + 10, box["y"] + box["height"] / 2  # the first ring
        if curve:
            fingers = page.context.new_cdp_session(page)
            for step, what in enumerate(["touchStart", *["touchMove"] * 8, "touchEnd"]):
                points = [] if what == "touchEnd" else [{"x": x, "y": y - 8 * step}]
                fingers.send("Input.dispatchTouchEvent", {"type": what, "touchPoints": points})
            settle(page)
            assert page.evaluate("scrollY") == 0
            assert float(page.locator("input").first.input_value()) > 0.65
        else:
            page.touchscreen.tap(box["x"] + 100, y)
        assert page.locator("input:not(.unset)").count() == 1
        page.close()

    def test_a_curve_that_is_begun_says_how_much_is_missing(self, window):
        page = window(800, 600)
        page.set_content(guess_curve([0, 1], [0.5, 0.5], knots=5, **CURVE)._repr_html_())
        hint, open_points = page.locator("svg.wide .hint"), page.locator(".open")
        assert hint.is_visible()
        assert open_points.inner_text() == ""
        for n, slider in enumerate(page.locator("input").all()):
            slider.evaluate("e => e.dispatchEvent(new Event('input'))")
            said = f"{4 - n} of 5 points still to draw" if n < 4 else AGAIN
            assert open_points.inner_text() == said
            assert hint.is_hidden()

    @pytest.mark.parametrize(("start", "end", "left"), [(0, 0.97, 0), (0.1, 0.95, 0), (0.3, 1, 2)])
    def test_a_stroke_over_most_of_the_axis_reaches_its_ends(self, window, start, end, left):
        page = window(800, 600)
        page.set_content(guess_curve([0, 1], [0.5, 0.5], knots=9, **CURVE)._repr_html_())
        axis = page.locator(".wide .axes").first.bounding_box()
        spot = [axis["x"] + share * axis["width"] for share in (start, end)]
        page.mouse.move(spot[0], axis["y"] - 120)
        page.mouse.down()
        page.mouse.move(spot[1], axis["y"] - 60, steps=12)
        page.mouse.up()
        assert page.locator("input.unset").count() == left
        button = page.get_by_role("button")
        assert button.is_disabled() == bool(left)
        said = f"{left} of 9 points still to draw" if left else AGAIN
        assert page.locator(".open").inner_text() == said

    def test_a_button_that_waits_looks_so_and_can_be_read(self, window):
        page = window()
        looks = []
        for ink, paper in (("#323232", "#ffffff"), ("#ced6dd", "#14181e")):
            page.set_content(
                f"<body style='color:{ink};background:{paper}'>"
                f"<style>.guess button {{ color: {paper}; background: #b45309 }}</style>"
                f"{guess_point(10, **POINT)._repr_html_()}"
            )
            button = page.get_by_role("button")
            shot = Image.open(io.BytesIO(button.screenshot())).convert("L")
            dark, light = (x / 255 for x in shot.getextrema())
            looks.append((light**2.2 + 0.05) / (dark**2.2 + 0.05))
            assert button.evaluate("e => getComputedStyle(e).cursor") == "not-allowed"
        assert min(looks) > 4.5

    def test_a_logarithmic_curve_has_its_factors_evenly_apart(self, window):
        look = {**CURVE, "log": True, "xticks": [16, 256, 4096]}
        guess = guess_curve([16, 256, 4096], [1, 0, -1], knots=3, **look)
        assert data(guess)["places"] == pytest.approx([0, 0.5, 1])
        texts = [text.text for text in soup(guess).select(".wide text")]
        assert texts[:3] == ["16", "256", "4,096"]
        assert [span.text for span in soup(guess).select("label span")] == [
            "at 16", "at 256", "at 4,100",
        ]  # fmt: skip
        assert compared(window, guess, [1, 0.5, 0])[1].startswith("Close enough: ")

    @pytest.mark.parametrize(("share", "outcome"), [(0.5, "right"), (0.9, "wrong")])
    def test_an_answer_shows_how_it_did_and_asks_no_more(self, window, share, outcome):
        page = window()
        curve = guess_curve([0, 1], [0.5, 0.5], knots=2, **{**CURVE, "ylim": (0, 1)})
        page.set_content(curve._repr_html_())
        assert not page.locator(".wide .between").is_visible()
        for slider in page.locator("input").all():
            slider.evaluate(
                "(e, to) => { e.value = to; e.dispatchEvent(new Event('input')); }", share
            )
        page.locator("button").click()
        assert page.locator(f".guess.compared.{outcome}").count() == 1
        assert not page.locator(".controls").is_visible()
        height = page.locator(".wide .between").bounding_box()["height"]
        picture = page.locator("svg.wide").bounding_box()["width"] / 640  # pixels of a unit
        assert height == pytest.approx(picture * 200 * abs(share - 0.5), abs=1)

    @pytest.mark.parametrize(
        ("guess", "told"),
        [
            (
                guess_point(2110.4, low=1, high=9999, **SHORT | {"xlabel": "a (words)"}),
                "2,110 words",
            ),
            (guess_point(-0.709, low=-4.5, high=0.5, **SHORT), "\N{MINUS SIGN}0.709"),
            (guess_angle(math.pi / 2, within=0.1, says="So."), "0.25 of a turn"),
        ],
    )
    def test_where_nothing_is_compared_the_number_is_told(self, window, guess, told):
        assert soup(guess).select_one(".said").text == f"It is {told}. So."
        page = window()
        page.set_content(guess._repr_html_())
        assert page.locator(".said").inner_text() == ""
        assert page.locator(".said").get_attribute("data-says") == f"It is {told}. So."

    def test_on_paper_the_truth_is_there_unanswered(self, window):
        guess = guess_curve(
            [0, 1], [0, 1], xlabel="x", ylabel="y", ylim=(0, 2), within=0.1, says="It rises."
        )
        page = window()
        page.set_content(guess._repr_html_())
        truth = page.locator(".truth:visible")
        assert truth.count() == 0
        page.emulate_media(media="print")
        assert truth.count() == 1
        told = page.locator(".said").evaluate("e => getComputedStyle(e, '::after').content")
        assert told == '"It rises."'

    @pytest.mark.parametrize("guessed", [0.0, 0.3, 0.5, 0.52, 1.0])
    def test_words_that_say_whose_a_line_is_stand_apart_and_in_the_picture(self, window, guessed):
        curve = guess_curve([0, 1], [0.5, 0.5], knots=2, **{**CURVE, "ylim": (0, 1)})
        point = guess_point(50, **{**POINT, "low": 0})
        for guess in (curve, point, guess_angle(math.pi, within=0.3, says="")):
            page = window(390, 800)
            page.set_content(guess._repr_html_())
            for slider in page.locator("input").all():
                slider.evaluate(
                    "(e, to) => { e.value = to; e.dispatchEvent(new Event('input')); }", guessed
                )
            page.locator("button").click()
            svg = page.locator("svg.phone")
            mine, true = (svg.locator(word).bounding_box() for word in (".you", ".is"))
            picture = svg.bounding_box()
            if not (guess.data["kind"] == "angle" and 0.5 <= guessed < 0.55):  # one hand's tip
                assert any(
                    one[at] + one[size] <= other[at] + 1
                    for one, other in ((mine, true), (true, mine))
                    for at, size in (("x", "width"), ("y", "height"))
                )
            for box in (mine, true):
                assert box["x"] >= picture["x"] - 1
                assert box["x"] + box["width"] <= picture["x"] + picture["width"] + 1
