"""Live figures: posenc's numbers in every state, in any hands, on any screen, with nothing else.

Each check is a function that returns what is wrong, as a list; the tests want it to be empty.
TestTheTestsCanFail hands the same functions a figure with a fault in it.
"""

import base64
import functools
import io
import math
import random
import re
from contextlib import contextmanager, suppress
from itertools import pairwise, product

import matplotlib as mpl
import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from browser import settle
from bs4 import BeautifulSoup
from PIL import Image
from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as PlaywrightTimeout

mpl.use("agg")

import matplotlib.pyplot as plt

from posenc import attention, inverse_frequencies, sinusoidal_encoding
from posenc.lab.tables import Row
from posenc.show import explore, live, plot_attention
from posenc.show.colours import PALETTE, WEIGHTS
from posenc.show.live.lines import HEIGHT, LETTER, LETTERS, PHONE, _room

pytestmark = pytest.mark.usefixtures("annotations_off")

FIGURES = {
    "alibi": live.alibi,
    "alibi-other": lambda: live.alibi(num_heads=3, head=2, distance=20),
    "buckets": live.buckets,
    "buckets-other": lambda: live.buckets(num_buckets=8, max_distance=64, distance=0),
    "clocks": live.clocks,
    "clocks-other": lambda: live.clocks(["a", "b", "a", "c"], dim=4, base=7.0, start=2),
    "clock_pair": live.clock_pair,
    "clock_pair-other": lambda: live.clock_pair(dim=8, base=500.0, first=9, second=1),
    "digits": live.digits,
    "digits-other": lambda: live.digits(base=10, wheels=2, start=11),
    "dot_product": live.dot_product,
    "dot_product-other": lambda: live.dot_product(dim=6, base=50.0, longest=40),
    "encoding_table": live.encoding_table,
    "encoding_table-other": lambda: live.encoding_table(dim=6, base=20.0, length=9),
    "frames": lambda: bars().live(),
    "frames-other": lambda: explore(
        lambda places: plot_attention(torch.eye(places)).figure,
        describe="{places} places".format,
        places=[2, 5, 9],
        start={"places": 5},
    ).live(),
    "learned_table": lambda: live.learned_table(
        alike(2, 4, 12), every=100, seed=1, row=5, column=11
    ),
    "learned_table-other": lambda: live.learned_table(alike(1, 2, 6), every=2000),
    "lengths": lambda: live.lengths(
        [Row("rope", {8: [0.5, 0.7], 16: [0.9, 1.4]}, {}, 2, 2), Row("table", {8: [1]}, {}, 1, 1)],
        train_length=8,
        ylabel="loss (nats)",
    ),
    "lines": lambda: live.lines(
        torch.arange(0, 60, 4),
        {"sine": (torch.arange(0, 60, 4) / 9).sin(), "root": torch.arange(0, 60, 4).sqrt()},
        xlabel="position",
        ylabel="height",
        marks={"trained": 20},
        levels={"chance": 4},
    ),
    "lines-other": lambda: live.lines(
        [64, 128, 256, 512],
        {"a": [3, 2.5, 2.0, 1.5], "b": [1, 2, math.nan, math.nan], "c": [0.5, *[math.nan] * 3]},
        xlabel="length",
        ylabel="loss",
        xscale="log",
        bands={"a": ([2.9, 2.2, 1.5, 1.0], [3.1, 2.8, 2.5, 2.0])},
        start="b",
        nearer=1.6,
        digits=3,
        says="{line} loses {y} at {x}, no more.",
        measured=True,
    ),
    "query_key_clocks": live.query_key_clocks,
    "query_key_clocks-other": lambda: live.query_key_clocks(
        torch.tensor([1.0, 0.4, -0.3, 2.0]).repeat(4),
        torch.tensor([0.5, -0.7, 1.1, 0.2]).repeat(4),
        base=30.0,
        trained=5,
        longest=30,
        distance=20,
        scaled=inverse_frequencies(16, base=30.0) / 4,
    ),
    "query_key_clocks-trained": lambda: live.query_key_clocks(dim=6, trained=12, distance=20),
    "relative_grid": live.relative_grid,
    "relative_grid-other": lambda: live.relative_grid(["a", "b", "c"], query=0, key=2, clip=1),
    "reordered": lambda: live.reordered(drawn(12), {"as told": range(12), **TURNED}),
    "reordered-other": lambda: live.reordered(
        drawn(3), {"one": [2, 0, 1], "two": [1, 2, 0]}, ["a", "b", "c"], query=2, key=0
    ),
    "rotated_pair": live.rotated_pair,
    "rotated_pair-other": lambda: live.rotated_pair(
        (0.3, -2.0), (-1.0, 0.2), frequency=1.3, query_position=0, key_position=15, together=True
    ),
    "seen_turns": live.seen_turns,
    "seen_turns-other": lambda: live.seen_turns(dim=6, base=1e6, trained=4096, length=100),
    "shift_clocks": live.shift_clocks,
    "shift_clocks-other": lambda: live.shift_clocks(
        dim=2, base=3.0, position=0, offset=5, longest=9, farthest=5
    ),
    "wave": live.wave,
    "wave-other": lambda: live.wave(["a", "b", "c", "d", "e"], frequency=2.5, start=3),
}


TURNED = {"backwards": range(11, -1, -1), "by turns": [*range(0, 12, 2), *range(1, 12, 2)]}


def drawn(n, order=None):
    """Attention weights of n words, in another order if one is given."""
    words = torch.randn(n, 8, generator=torch.Generator().manual_seed(0))[list(order or range(n))]
    return attention(words, words, words)[1]


def alike(seeds, steps, n):
    """Cosines of rows that are drawn."""
    rows = torch.randn(seeds, steps, n, 5, generator=torch.Generator().manual_seed(0))
    rows = torch.nn.functional.normalize(rows, dim=-1)
    return rows @ rows.mT


def bars():
    """A drawing with one control of each kind."""

    def draw(height, name, grid):
        ax = plt.subplots()[1]
        ax.bar([0, 1], [height, 10])
        ax.set(xlabel=name, ylabel="height")
        ax.grid(grid)
        return ax.figure

    return explore(
        draw,
        describe=lambda height, name, grid: f"{name} of {height}, grid {grid}",
        height=[1, 5, 9],
        name=["bar", "pole"],
        grid=[False, True],
        start={"height": 5},
    )


EACH = pytest.mark.parametrize("name", FIGURES)
MAIN = [name for name in FIGURES if "-" not in name]  # one of a kind, for what costs time
EACH_KIND = pytest.mark.parametrize("name", MAIN)

PAGE = """<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<title>A figure</title><style>
body {{ margin: 12px; font: 16px/1.6 serif; color: {ink}; background: {paper} }}
main {{ max-width: 790px; height: 3000px; margin: auto }}
</style><main><h1>A figure</h1><figure style="margin:0">{figure}</figure></main>"""
INK = {"light": ("#323232", "#ffffff"), "dark": ("#ced6dd", "#14181e")}


@functools.cache
def figure(name):
    with plt.style.context("posenc.show.book"):
        return FIGURES[name]()


@pytest.fixture(scope="module")
def windows(browser):
    """Pages that stay open, one for each kind of reader: a new one costs five times a load."""
    kept = {}

    def window(**reader):
        key = repr(sorted(reader.items()))
        if key not in kept:
            page = kept[key] = browser.new_context(**reader).new_page()
            page.on("pageerror", lambda error: page.problems.append(f"error: {error}"))
            page.on("console", lambda message: page.problems.append(f"console: {message.text}"))
            page.on("request", lambda request: page.problems.append(f"asks for {request.url}"))
        return kept[key]

    yield window
    for page in kept.values():
        page.context.close()


@pytest.fixture
def opened(windows, tmp_path):
    """Opens figures from a file, and notes errors and requests."""

    @contextmanager
    def open_figure(name, *, theme="light", width=820, **options):
        ink, paper = INK[theme]
        html = PAGE.format(theme=theme, ink=ink, paper=paper, figure=figure(name).html())
        file = tmp_path / f"{name}.html"
        file.write_text(html, encoding="utf-8")
        page = windows(color_scheme=theme, **options)
        page.set_viewport_size({"width": width, "height": 900})
        page.problems = []
        page.goto(file.as_uri())
        page.problems.remove(f"asks for {file.as_uri()}")
        try:
            yield page
        finally:  # nothing of this figure goes on
            page.emulate_media(media="null")
            page.mouse.up()
            page.mouse.move(0, 0)
            page.goto("about:blank")

    return open_figure


def expect_none(problems: list[str]) -> None:
    """Fail with all problems, one a line."""
    assert not problems, "\n".join(["", *problems])


# ---------------------------------------------------------------------------- numbers


def some_states(name: str, count: int = 12) -> list[dict]:
    """The first state, the ends of every slider, and random ones between."""
    soup = BeautifulSoup(figure(name).html(), "html.parser")
    start, chance = figure(name).state, random.Random(name)

    def one(pick) -> dict:
        state = dict(start)
        for control in soup.select("[name]"):
            if control.name == "select":
                state[control["name"]] = chance.choice(control.select("option"))["value"]
            elif control["type"] == "checkbox":
                state[control["name"]] = chance.random() < 0.5
            else:
                low, high = float(control["min"]), float(control["max"])
                value = pick(low, high)
                whole = isinstance(start[control["name"]], int) and control["step"] == "1"
                state[control["name"]] = round(value) if whole else value
        return state

    return [dict(start), one(min), one(max), *(one(chance.uniform) for _ in range(count))]


HEIGHTS = """async (el, states) => {
  const found = [];
  for (const state of states) {
    el.live.model.set("state", state);
    await new Promise(requestAnimationFrame); // it was drawn in the same frame, before this
    found.push([el.querySelector(".said").innerText, el.getBoundingClientRect().height]);
  }
  return found;
}"""
SET = """async (el, state) => {
  el.live.model.set("state", state);
  await new Promise(requestAnimationFrame); // it was drawn in the same frame, before this
  return el.live.values();
}"""


def number_problems(page: Page, name: str) -> list[str]:
    """Where the page computes, shows or says something else than posenc."""
    problems = []
    for state in some_states(name):
        found = page.locator(".live").evaluate(SET, state)
        problems += differences(found, figure(name).values(state), f"{state}: ", 1e-6)
    return problems


def differences(found, wanted, where: str, tolerance: float) -> list[str]:
    """What differs between two nests of dictionaries, lists, texts and numbers."""
    if isinstance(wanted, dict):
        keys = [f"{where}has {sorted(found)}"] if set(found) != set(wanted) else []
        both = set(found) & set(wanted)
        for k in both:
            keys += differences(found[k], wanted[k], f"{where}{k} ", tolerance)
        return keys
    if isinstance(wanted, list | tuple):
        if len(found) != len(wanted):
            return [f"{where}has {len(found)} entries, not {len(wanted)}"]
        entries = []
        for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
            entries += differences(one, other, f"{where}{i} ", tolerance)
        return entries
    if isinstance(wanted, str):
        return [] if found == wanted else [f"{where}is {found!r}, not {wanted!r}"]
    near = math.isclose(found, wanted, rel_tol=tolerance, abs_tol=tolerance)
    return [] if near else [f"{where}is {found}, not {wanted}"]


NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
SHOWN = """els => els.map((e) => [e.dataset.set, e.getAttribute("style") ?? "",
  e.getAttribute("d") ?? "", e.dataset.set.includes("text:") ? e.textContent : ""])"""


def first_state_problems(page: Page, name: str) -> list[str]:
    """Where the script's first state is not the one that stands in the HTML."""
    soup = BeautifulSoup(figure(name).html(), "html.parser")
    drawn = [
        [
            mark["data-set"],
            mark.get("style", ""),
            mark.get("d", ""),
            mark.get_text() if "text:" in mark["data-set"] else "",
        ]
        for mark in soup.select("[data-set]")
    ]
    problems = []
    for was, now in zip(drawn, page.locator("[data-set]").evaluate_all(SHOWN), strict=True):
        for before, after in zip(was, now, strict=True):
            before, after = (re.sub(r"[:; ]+", " ", text).strip(" ") for text in (before, after))
            numbers = [[float(n) for n in NUMBER.findall(text)] for text in (before, after)]
            same = NUMBER.sub("#", before) == NUMBER.sub("#", after)
            if not same or differences(*numbers, "", 2e-4):
                problems.append(f"{was[0]}: {before[:80]!r} became {after[:80]!r}")
    return problems


class TestNumbers:
    @pytest.mark.every
    @EACH
    def test_are_those_of_posenc_in_many_states(self, opened, name):
        with opened(name) as page:
            expect_none(number_problems(page, name))
            expect_none(page.problems)

    @EACH
    def test_stand_in_the_html_as_the_script_draws_them_first(self, opened, name):
        with opened(name) as page:
            expect_none(first_state_problems(page, name))

    @pytest.mark.parametrize(("head", "n"), [(0, 1), (6, 64), (7, 8), (7, 512), (7, 2048)])
    def test_of_alibi_are_those_of_a_text_without_end(self, head, n):
        r = math.exp(-(2 ** -(head + 1)))
        values = figure("alibi").values({"head": head, "at": math.log2(n)})
        assert values["weight_said"] == f"{100 * (1 - r) * r**n:.2f}%"
        assert values["share_said"] == f"{100 * r**n:.2f}%"


# ---------------------------------------------------------------------------- hands


def state_of(page: Page) -> dict:
    return page.locator(".live").evaluate("(el) => el.live.model.get('state')")


def shown(page: Page) -> str:
    """All that marks and controls show, after the next frame."""
    return page.evaluate(
        """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(
          [...document.querySelectorAll("[data-set]")].map((e) => e.outerHTML).join() +
          [...document.querySelectorAll("[name]")].map((e) => [e.value, e.checked]).join()))))"""
    )


def kinds(page: Page, attribute: str) -> list[str]:
    """One selector for each kind of mark that can be pulled or pressed."""
    marks = page.locator(f"[{attribute}]").evaluate_all(
        f"els => els.map((e) => e.getAttribute('{attribute}'))"
    )
    first = {mark.split(".")[0]: mark for mark in reversed(marks)}
    return [f"[{attribute}='{mark}']" for mark in first.values()]


# The dot of what is pointed at lies on a line of the plot, and the tip does not cover it there.
BESIDE_THE_CURVE = """(svg) => {
  const live = svg.closest(".live"), tip = live.querySelector(".tip").getBoundingClientRect();
  const [dot] = [...live.querySelectorAll(".spot")].map((e) => e.getBoundingClientRect());
  if (!dot) return ["no dot"];
  const [x, y] = [dot.x + dot.width / 2, dot.y + dot.height / 2];
  const lines = [...svg.querySelectorAll("path.line:not(.here, .whole)")].map((line) => {
    const matrix = line.getScreenCTM(), long = line.getTotalLength();
    return Array.from({ length: 2001 }, (_, n) =>
      line.getPointAtLength((long * n) / 2000).matrixTransform(matrix));
  });
  const far = (points) => Math.min(...points.map((at) => Math.hypot(at.x - x, at.y - y)));
  const own = lines.sort((a, b) => far(a) - far(b))[0];
  const inside = (at) => at.x > tip.left && at.x < tip.right && at.y > tip.top && at.y < tip.bottom;
  const problems = [];
  if (far(own) > 3) problems.push(`the dot at ${x}, ${y} is ${far(own)} from all lines`);
  if (own.some((at) => Math.hypot(at.x - x, at.y - y) < 16 && inside(at)))
    problems.push(`the tip covers the curve at ${x}, ${y}`);
  const { left, right } = live.getBoundingClientRect();
  if (tip.left < left || tip.right > right) problems.push("the tip is cut");
  return problems;
}"""


def at_rest(page: Page) -> dict:
    """The state once nothing moves on."""
    settle(page)
    return state_of(page)


def stand(page: Page, state: dict) -> None:
    """Wait until the state is this: on its way, a few whole numbers may each stand for long."""
    now = "document.querySelector('.live').live.model.get('state')"
    same = "Object.keys(now).every((name) => now[name] === wanted[name])"
    page.wait_for_function(f"(wanted) => {{ const now = {now}; return {same}; }}", arg=state)


def drag_problems(page: Page) -> list[str]:
    """Marks that do not follow the mouse, or keep following after it let go."""
    problems = []
    for selector in kinds(page, "data-drag"):
        for dx, dy in ((37, 29), (-33, -21), (31, -35)):
            mark = page.locator(selector).last
            mark.scroll_into_view_if_needed()
            box, before = mark.bounding_box(), (state_of(page), shown(page))
            x, y = box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.4
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + dx, y + dy, steps=4)
            followed = state_of(page) != before[0] and shown(page) != before[1]
            page.mouse.up()
            if followed:
                break
        else:
            problems.append(f"{selector} does not follow")
        rest = at_rest(page)
        page.mouse.move(x, y, steps=2)
        if state_of(page) != rest:
            problems.append(f"{selector} follows after it was let go")
    return problems


TIP = """(dial) => {
  const tip = [...dial.parentElement.querySelectorAll(".hand:not(.rest) > :last-child")].at(-1);
  const { left, top, width, height } = tip.getBoundingClientRect();
  return [left + width / 2, top + height / 2];
}"""


def touch_problems(page: Page) -> list[str]:
    """Marks that do not follow a finger, or that scroll the page instead."""
    fingers, problems = page.context.new_cdp_session(page), []
    for selector in kinds(page, "data-drag"):
        there = page.locator(selector).filter(visible=True)
        if not there.count():  # a phone does not show it
            continue
        mark = there.last
        picture = mark.evaluate("e => e.matches('.frame > svg')")  # moved along, and scrolled by
        for dx, dy in (
            ((-43, -6), (47, 9), (41, -6)) if picture else ((-33, -45), (37, 49), (31, -45))
        ):
            # not to the foot, where controls stick
            mark.evaluate("e => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
            box, before = mark.bounding_box(), state_of(page)
            x, y = box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.4
            if mark.evaluate("e => e.matches('.hit')"):
                x, y = mark.evaluate(TIP)
            top = page.evaluate("scrollY")
            for step, kind in enumerate(["touchStart", *["touchMove"] * 4, "touchEnd"]):
                at = {"x": x + dx * step / 4, "y": y + dy * step / 4}
                points = [] if kind == "touchEnd" else [at]
                followed = state_of(page) != before
                fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            settle(page)
            if page.evaluate("scrollY") != top:
                problems.append(f"{selector} scrolls the page")
            at_rest(page)
            if followed:
                break
        else:
            problems.append(f"{selector} does not follow a finger")
    return problems


def keyboard_problems(page: Page) -> list[str]:
    """Sliders whose arrows do not move by a step, and moves that are not said, once."""
    problems = []
    page.evaluate(
        """() => {
          window.said = [];
          const heard = document.querySelector(".live [role=status]");
          if (heard) new MutationObserver(() => said.push(heard.textContent))
            .observe(heard, { childList: true, characterData: true, subtree: true });
        }"""
    )
    for slider in page.locator("input[type=range]").all():
        name, step = (slider.get_attribute(a) for a in ("name", "data-step"))
        low, high = (float(slider.get_attribute(a)) for a in ("min", "max"))
        slider.focus()
        for key, by in (("ArrowRight", 1), ("ArrowLeft", -1), ("Shift+ArrowRight", 0.1)):
            before = state_of(page)[name]
            page.keyboard.press(key)
            by = math.copysign(1, by) if slider.get_attribute("step") == "1" else by
            wanted = min(high, max(low, before + by * float(step)))
            if not math.isclose(state_of(page)[name], wanted, abs_tol=1e-6):
                problems.append(f"{name}: {key} leads from {before} to {state_of(page)[name]}")
        page.evaluate("said.length = 0")
        page.keyboard.press(
            "ArrowLeft" if state_of(page)[name] > (low + high) / 2 else "ArrowRight"
        )
        with suppress(PlaywrightTimeout):
            page.wait_for_function("said.length > 0", timeout=5000)
        page.wait_for_timeout(500)  # nothing is said twice
        said, text = page.evaluate("said"), page.locator(".live .said").inner_text()
        if said != [text]:
            problems.append(f"{name}: {said} was said, the text is {text!r}")
        if not slider.evaluate("e => e.labels[0].textContent.trim()"):
            problems.append(f"{name} has no label")
    return problems


PAINTED = """(el) => {
  const canvas = el.querySelector("canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return [canvas.width, canvas.height, [...data]];
}"""


class TestLearnedTable:
    def test_it_begins_at_the_beginning_and_plays_to_the_end(self, opened):
        with opened("learned_table") as page:
            assert state_of(page)["step"] == 0
            page.locator("[data-play]").click()
            page.locator(".said").get_by_text("Step 300, seed 1: ").wait_for(timeout=20000)
            assert state_of(page)["step"] == 3

    def test_a_tap_on_a_cell_tells_its_value_there(self, opened):
        with opened("learned_table", width=390, has_touch=True, is_mobile=True) as page:
            box = page.locator("[data-drag=cell]").bounding_box()
            page.touchscreen.tap(
                box["x"] + 7.5 / 12 * box["width"], box["y"] + 2.5 / 12 * box["height"]
            )
            told = page.locator(".plot").first.locator(".note")
            assert (state_of(page)["r"], state_of(page)["c"]) == (2, 7)
            value = alike(2, 4, 12)[1, 0, 2, 7].item()
            told.get_by_text(f"{value:.2f}".replace("-", "\N{MINUS SIGN}")).wait_for(timeout=2000)
            note = told.bounding_box()
            assert abs(note["y"] + note["height"] - (box["y"] + 2.5 / 12 * box["height"])) < 30

    @pytest.mark.parametrize("width", [360, 390, 820])
    def test_the_table_is_square(self, opened, width):
        with opened("learned_table", width=width) as page:
            box = page.locator("[data-drag=cell]").bounding_box()
            assert box["height"] == pytest.approx(box["width"], rel=0.1)

    def test_each_small_map_is_of_its_step_and_leads_there(self, opened):
        with opened("learned_table") as page:
            settle(page)
            small = page.locator(".film button")
            assert small.all_inner_texts() == ["0", "100", "200", "300"]
            strengths = page.locator(".film canvas").evaluate_all(
                "all => all.map((c) => c.getContext('2d').getImageData(3, 0, 1, 1).data[3])"
            )
            values = alike(2, 4, 12)[1, :, 0, 3].abs()
            assert strengths == pytest.approx((255 * values).tolist(), abs=1.8)
            small.nth(2).click()
            page.wait_for_function(
                "document.querySelector('.live').live.model.get('state').step === 2"
            )

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"cosines": torch.eye(4)}, r"cosines must be \[seeds.*got \(4, 4\)"),
            ({"cosines": torch.eye(4).expand(1, 1, 4, 4)}, "2 or more steps"),
            ({"cosines": torch.eye(4).roll(1, 0).expand(1, 2, 4, 4)}, "the same for rows a and b"),
            ({"cosines": 2 * torch.eye(4).expand(1, 2, 4, 4)}, "from -1 to 1, got 2"),
            ({"seed": 1}, "seed must be from 0 to 0, got 1"),
            ({"row": -1}, "row must be from 0 to 3, got -1"),
            ({"column": 4}, "column must be from 0 to 3, got 4"),
        ],
    )
    def test_what_it_refuses(self, change, told):
        given = {"cosines": torch.eye(4).expand(1, 2, 4, 4), "every": 10} | change
        with pytest.raises(ValueError, match=told):
            live.learned_table(given.pop("cosines"), **given)


class TestReordered:
    def test_every_weight_goes_where_posenc_finds_it(self, opened):
        with opened("reordered") as page:
            for place, order in enumerate((range(12), *TURNED.values())):
                page.locator("[name=order]").fill(str(place))
                settle(page)
                size, _, pixels = page.locator(".live").evaluate(PAINTED)
                at = torch.arange(12) * (size // 12) + size // 24
                middles = torch.tensor(pixels).view(size, size, 4)[at][:, at, :3]
                wanted = torch.from_numpy(WEIGHTS(drawn(12, order).sqrt().numpy(), bytes=True))
                assert (middles - wanted[..., :3].int()).abs().max() <= 2

    def test_what_passes_hides_what_lies_below(self, opened):
        with opened("reordered") as page:
            page.locator("[name=order]").evaluate("""(slider) => {
              slider.value = 0.46; // pairs of rows and columns half-way past each other
              slider.dispatchEvent(new Event("input", { bubbles: true }));
            }""")
            settle(page)
            _, _, pixels = page.locator(".live").evaluate(PAINTED)
            painted = torch.tensor(pixels).view(-1, 4)
            painted = painted[painted[:, 3] > 0, None, :3]
            weights = torch.from_numpy(WEIGHTS(drawn(12).sqrt().numpy(), bytes=True))
            weights = weights[..., :3].int().flatten(0, 1)
            strange = (painted - weights).abs().amax(-1).amin(1) > 2
            share = strange.double().mean().item()  # all but edges, within a pixel
            print(f"painted with what is no weight: {share:.1%}")
            assert share < 0.1

    def test_on_the_way_words_only_change_places_with_neighbours(self):
        data = live.reordered(drawn(12), {"as told": range(12), **TURNED}).data
        for before, after in pairwise(data["places"]):
            steps = [b - a for a, b in zip(before, after, strict=True)]
            assert {*steps} <= {-1, 0, 1}
            assert any(steps)
            assert sorted(after) == list(range(12))
        there = [data["places"][n] for n in data["named"]]
        orders = [list(range(12)), *map(list, TURNED.values())]
        assert there == [[order.index(word) for word in range(12)] for order in orders]

    def test_a_press_on_a_square_follows_the_words_that_stand_there(self, opened):
        with opened("reordered") as page:
            page.locator("[name=order]").fill("1")  # backwards
            settle(page)
            box = page.locator("[data-drag=cell]").bounding_box()
            page.mouse.click(
                box["x"] + 2.5 / 12 * box["width"], box["y"] + 0.5 / 12 * box["height"]
            )
            settle(page)
            assert (state_of(page)["i"], state_of(page)["j"]) == (11, 9)
            assert "\N{LEFT SINGLE QUOTATION MARK}cat" in page.locator(".said").inner_text()

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"words": list("abcdefghijklmnopq")}, "words must be at most 16, got 17"),
            ({"weights": torch.eye(3)}, r"weights must have shape \(2, 2\), got \(3, 3\)"),
            ({"weights": torch.eye(2) - 1}, "from 0 to 1, and not all 0, got -1 to 0"),
            ({"weights": torch.zeros(2, 2)}, "and not all 0, got 0 to 0"),
            ({"weights": 2 * torch.eye(2)}, "weights must be from 0 to 1, .*got 0 to 2"),
            ({"orders": {"one": [0, 1]}}, "orders must be at least two, got 1"),
            ({"orders": {"a": [0, 1], "b": [0, 1]}}, r"differ from the one before, got \[0, 1\]"),
            ({"orders": {"one": [0, 1], "two": [0, 0]}}, "each of 2 words once, 'two' does not"),
            ({"query": 2}, "query must be a position from 0 to 1, got 2"),
            ({"key": -1}, "key must be a position from 0 to 1, got -1"),
        ],
    )
    def test_what_it_refuses(self, change, told):
        given = {"weights": torch.eye(2), "orders": {"a": [0, 1], "b": [1, 0]}, "words": ["x", "y"]}
        with pytest.raises(ValueError, match=told):
            live.reordered(**given | change)


UPON = """async (states) => {
  const { model } = document.querySelector(".live").live, found = [];
  for (const state of states) {
    model.set("state", state);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const names = [...document.querySelectorAll("span.named")];
    const boxes = names.map((e) => e.getBoundingClientRect());
    for (const [i, a] of boxes.entries())
      for (const b of boxes.slice(i + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && tall > 2) found.push([JSON.stringify(state), names[i].textContent, tall]);
      }
  }
  return found;
}"""


class TestPlaces:
    @pytest.mark.parametrize("width", [700, 1440])
    @pytest.mark.parametrize("name", ["clocks", "digits", "wave", "learned_table"])
    def test_a_slider_under_a_row_stands_under_what_it_means(self, opened, name, width):
        with opened(name, width=width) as page:
            bar = page.locator(".rail input")
            things = page.locator(".words button, .film button")
            last = things.count() - 1
            for i in (0, 1, last):
                bar.fill(str(i))
                box, thing = bar.bounding_box(), things.nth(i).bounding_box()
                thumb = box["x"] + 8 + i / last * (box["width"] - 16)  # 16 pixels wide
                assert thumb == pytest.approx(thing["x"] + thing["width"] / 2, abs=2)
                assert box["y"] - (thing["y"] + thing["height"]) < 20  # right below

    @pytest.mark.parametrize(
        ("x", "xscale", "ends"),
        [
            (range(64), "linear", ("0", "63")),
            ([32, 128, 4096], "log", ("32", "4,096")),
            ([256, 1000, 1_000_000], "log", ("256", "1,000,000")),
            (range(4, 253, 8), "linear", ("4", "252")),
        ],
    )
    def test_both_ends_of_an_axis_have_their_number(self, x, xscale, ends):
        x = list(x)
        figure = live.lines(x, {"a": x}, xlabel="x", ylabel="y", xscale=xscale)
        ticks = BeautifulSoup(figure.html(), "html.parser").select(".xticks span")
        assert (ticks[0].text, ticks[-1].text) == ends
        assert [t["style"].split(";")[0] for t in (ticks[0], ticks[-1])] == ["--at:0", "--at:1"]

    @pytest.mark.parametrize("width", [390, 900])
    def test_no_number_lies_under_that_of_the_place(self, browser, width):
        x = [256, 1000, 10_000, 100_000, 1_000_000]
        figure = live.lines(x, {"a": x}, xlabel="x", ylabel="y", xscale="log")
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.set_content(PAGE.format(theme="light", ink="#000", paper="#fff", figure=figure.html()))
        low, high = math.log2(256), math.log2(1_000_000)
        for share in (0, 0.1, 0.3, 0.5, 0.77, 0.9, 1):
            page.locator("[name=at]").fill(str(low + share * (high - low)))
            settle(page)
            badge, edge = (page.locator(f".{c}").bounding_box() for c in ("where", "live"))
            assert edge["x"] <= badge["x"] <= edge["x"] + edge["width"] - badge["width"]
            for tick in page.locator(".xticks span").all():
                if float(tick.evaluate("e => getComputedStyle(e).opacity")) > 0:
                    box = tick.bounding_box()
                    apart = max(
                        badge["x"] - box["x"] - box["width"], box["x"] - badge["x"] - badge["width"]
                    )
                    assert apart >= 0, (share, tick.inner_text(), apart)
        page.close()

    def test_the_field_and_the_line_of_one_turn_say_what_they_are(self, opened):
        for theme in ("light", "dark"):
            with opened("seen_turns", theme=theme) as page:
                assert page.locator(".legend").inner_text() == "less than one turn in training"
                one = page.locator("span.named", has_text="one turn").bounding_box()
                line = page.locator(".line.whole").bounding_box()
                assert abs(line["y"] - one["y"] - one["height"]) < 10
                fill = page.locator(".unseen").evaluate("e => getComputedStyle(e).fill")
                assert float(re.findall(r"[\d.]+", fill)[-1]) == (0.26 if theme == "dark" else 0.14)

    @pytest.mark.parametrize("width", [390, 820])
    @pytest.mark.parametrize(
        "given",
        [{"dim": 512, "trained": 512, "length": 1024}, {"trained": 4096, "length": 16_384}],
    )
    def test_no_line_goes_through_the_name_of_one(self, browser, given, width):
        page = browser.new_page(viewport={"width": width, "height": 800})
        html = live.seen_turns(**given).html()
        page.set_content(PAGE.format(theme="light", ink="#000", paper="#fff", figure=html))
        struck = STRUCK.replace(".fore", "span.named").replace("box.bottom", "box.bottom - 1")
        for name in ("training text", "new text", "one turn"):
            assert page.evaluate(struck, name) == []
        page.close()

    @pytest.mark.parametrize("width", [390, 820])
    @pytest.mark.parametrize(
        "given", [{"trained": 2048, "length": 8192}, {"dim": 512, "trained": 512, "length": 1024}]
    )
    def test_no_name_lies_upon_another(self, browser, given, width):
        page = browser.new_page(viewport={"width": width, "height": 800})
        html = live.seen_turns(**given).html()
        page.set_content(PAGE.format(theme="light", ink="#000", paper="#fff", figure=html))
        page.wait_for_function("document.querySelector('.live').live")
        states = [
            {"log_base": base, "trained": trained, "length": length}
            for base in (2, 2.5, 3.25, 3.875, 4, 5, 6, 7)
            for trained in (5, 7, 9, 10.6, 11, 13, 16, 20)
            for length in (5, 8, 10, 11, 13, 14.3, 17, 20)
        ]
        assert page.evaluate(UPON, states) == []
        page.close()

    def test_the_lines_of_turns_are_named_inside_the_picture(self, opened):
        with opened("seen_turns") as page:
            frame = page.locator(".frame").bounding_box()
            for state in ({}, {"trained": 20}, {"log_base": 7, "trained": 5, "length": 5}):
                page.evaluate(
                    "s => { const { model } = document.querySelector('.live').live;"
                    "model.set('state', { ...model.get('state'), ...s }); }",
                    state,
                )
                settle(page)
                for name in page.locator("span.named").all():
                    box = name.bounding_box()
                    assert frame["y"] - 20 <= box["y"] <= frame["y"] + frame["height"], state
                    assert frame["x"] - 20 <= box["x"] <= frame["x"] + frame["width"] - box["width"]


RAMP = """(names) => {
  const el = document.querySelector(".live"), ramp = el.querySelector(".ramp i");
  const pencil = document.createElement("canvas").getContext("2d");
  const rgb = (colour) => {
    pencil.fillStyle = colour;
    pencil.fillRect(0, 0, 1, 1);
    return [...pencil.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const drawn = getComputedStyle(ramp).backgroundImage.match(/rgb\\([^)]+\\)/g);
  return [drawn.map(rgb), names.map((name) => rgb(getComputedStyle(el).getPropertyValue(name)))];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("name", "stops"),
    [
        ("reordered", [f"--weight-{i}" for i in range(5)]),
        *((name, ["--minus", "--zero", "--plus"]) for name in ("encoding_table", "learned_table")),
    ],
)
def test_a_map_says_what_its_colours_mean(opened, name, stops, theme):
    with opened(name, theme=theme) as page:
        drawn, wanted = page.evaluate(RAMP, stops)
        assert drawn == wanted
        texts = page.locator(".ramp span").all_inner_texts()
        ends = ["0", "1"] if name == "reordered" else ["\N{MINUS SIGN}1", "1"]
        assert texts[1:] == ends


class TestPainting:
    def painted(self, page):
        """The entries that the pixels stand for: red is positive, and strong is far from 0."""
        width, height, data = page.locator(".live").evaluate(PAINTED)
        pixels = torch.tensor(data, dtype=torch.float64).view(height, width, 4)
        red = (pixels[..., 0] > pixels[..., 2]).double()
        return (2 * red - 1) * pixels[..., 3] / 255

    def test_each_pixel_is_an_entry_of_posencs_table(self, opened):
        with opened("encoding_table") as page:
            state = {"r": 0, "c": 0, "pairs": 5, "log_base": 2.5, "length": 40}
            page.locator(".live").evaluate(SET, state)
            shown(page)
            found = self.painted(page)
        table = sinusoidal_encoding(torch.arange(40), 10, base=10**2.5, dtype=torch.float64)
        assert (found - table).abs().max() < 1 / 255

    def test_the_masks_of_the_html_are_the_first_painting(self, opened):
        name = "encoding_table-other"
        with opened(name) as page:
            settle(page)
            found = self.painted(page)
        masks = re.findall(r"url\(data:image/png;base64,(\S+?)\)", figure(name).html())
        drawn = torch.zeros_like(found)
        for sign, mask in zip((1, -1), masks, strict=True):
            picture = Image.open(io.BytesIO(base64.b64decode(mask))).getchannel("A")
            strength = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8)
            drawn += sign * strength.view(found.shape).double() / 255
        assert (found - drawn).abs().max() < 1.1 / 255


class TestHands:
    @EACH_KIND
    def test_a_mouse_pulls_every_thing_that_says_so(self, opened, name):
        with opened(name) as page:
            expect_none(drag_problems(page) + page.problems)

    @EACH_KIND
    def test_a_finger_does_too_and_the_page_stays(self, opened, name):
        with opened(name, width=390, has_touch=True, is_mobile=True) as page:
            expect_none(touch_problems(page) + page.problems)

    @pytest.mark.parametrize("name", ["lines", "relative_grid", "dot_product"])
    def test_a_finger_on_its_way_down_the_page_changes_no_picture(self, opened, name):
        with opened(name, width=390, has_touch=True, is_mobile=True) as page:
            fingers, before = page.context.new_cdp_session(page), state_of(page)
            box = page.locator(".frame > svg").first.bounding_box()
            for step, kind in enumerate(["touchStart", *["touchMove"] * 8, "touchEnd"]):
                at = {"x": box["x"] + 0.4 * box["width"], "y": box["y"] + 150 - 15 * step}
                points = [] if kind == "touchEnd" else [at]
                fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            settle(page)
            assert page.evaluate("scrollY") > 20
            assert at_rest(page) == before

    @pytest.mark.parametrize(
        "name", ["clocks", "clock_pair", "digits", "query_key_clocks", "rotated_pair", "wave"]
    )
    def test_a_finger_scrolls_past_a_dial_and_a_tap_turns_its_hand(self, opened, name):
        with opened(name, width=390, has_touch=True, is_mobile=True) as page:
            page.evaluate("document.querySelector('main').style.paddingTop = '600px'")
            fingers, before = page.context.new_cdp_session(page), state_of(page)
            for dial in page.locator(".hit").all():
                dial.evaluate("e => scrollBy(0, e.getBoundingClientRect().top - 150)")
                top, box = page.evaluate("scrollY"), dial.bounding_box()
                x, y = (box[c] + box[size] / 2 for c, size in (("x", "width"), ("y", "height")))
                for step, kind in enumerate(["touchStart", *["touchMove"] * 12, "touchEnd"]):
                    points = [] if kind == "touchEnd" else [{"x": x, "y": y - 10 * step}]
                    given = {"type": kind, "touchPoints": points}
                    fingers.send("Input.dispatchTouchEvent", given)
                settle(page)
                assert abs(page.evaluate("scrollY") - top) > 20
                assert at_rest(page) == before
            dial.evaluate("e => scrollBy(0, e.getBoundingClientRect().top - 60)")
            box = dial.bounding_box()
            (x, y), r = dial.evaluate(TIP), box["width"] / 2
            across = x - box["x"] - r, y - box["y"] - r  # a quarter turn on
            page.touchscreen.tap(box["x"] + r - 0.8 * across[1], box["y"] + r + 0.8 * across[0])
            settle(page)
            assert state_of(page) != before

    @pytest.mark.parametrize("name", ["clocks", "seen_turns"])
    def test_a_finger_that_scrolls_from_a_slider_leaves_it_as_it_stood(self, opened, name):
        with opened(name, width=390, has_touch=True, is_mobile=True) as page:
            page.evaluate("document.querySelector('main').style.paddingBottom = '900px'")
            fingers, before = page.context.new_cdp_session(page), state_of(page)
            for slider in page.locator("[type=range]:visible").all():
                slider.evaluate("e => scrollBy(0, e.getBoundingClientRect().top - 500)")
                top, box = page.evaluate("scrollY"), slider.bounding_box()
                x, y = box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2
                for step, kind in enumerate(["touchStart", *["touchMove"] * 12, "touchEnd"]):
                    points = [] if kind == "touchEnd" else [{"x": x + step, "y": y - 14 * step}]
                    given = {"type": kind, "touchPoints": points}
                    fingers.send("Input.dispatchTouchEvent", given)
                    page.wait_for_timeout(16)
                settle(page)
                assert page.evaluate("scrollY") - top > 20
                assert at_rest(page) == before
                slider.evaluate("e => scrollBy(0, e.getBoundingClientRect().top - 500)")
                page.touchscreen.tap(x, slider.bounding_box()["y"] + box["height"] / 2)
                assert at_rest(page) != before  # a tap does set it
                page.locator(".live").evaluate(SET, before)

    @pytest.mark.parametrize("width", [360, 390])
    def test_the_pairs_of_a_pair_stand_abreast_on_a_phone(self, opened, width):
        with opened("rotated_pair", width=width) as page:
            box = page.locator(".controls").bounding_box()
            for left, right in (
                (".play", "[name=together]"),
                ("[name=m]", "[name=n]"),
                ("[name=q]", "[name=k]"),
            ):
                one, other = (page.locator(part).bounding_box() for part in (left, right))
                assert one["x"] < box["x"] + box["width"] / 2 <= other["x"]
                middles = [part["y"] + part["height"] / 2 for part in (one, other)]
                assert middles[0] == pytest.approx(middles[1], abs=2)
            wide = {round(e.bounding_box()["width"]) for e in page.locator("[type=range]").all()}
            assert len(wide) == 1

    @pytest.mark.parametrize("name", ["frames", "lines", "seen_turns", "rotated_pair"])
    def test_what_stands_beside_a_slider_stands_apart(self, opened, name):
        with opened(name, width=1024) as page:
            outer = page.locator(".controls").bounding_box()
            boxes = [e.bounding_box() for e in page.locator(".controls > *").all()]
            parts = page.locator(".controls output")
            assert all(
                out["x"] + out["width"] <= outer["x"] + outer["width"] + 1
                for out in (e.bounding_box() for e in parts.all())
            )
            for output in parts.all():
                out = output.bounding_box()
                right, middle = out["x"] + out["width"], out["y"] + out["height"] / 2
                beside = [
                    box["x"] - right
                    for box in boxes
                    if box["x"] > out["x"] and box["y"] < middle < box["y"] + box["height"]
                ]
                assert min(beside, default=28) >= 27.5

    @pytest.mark.parametrize(("hand", "moved"), [(0, "q"), (1, "k"), (2, "n"), (3, "m")])
    def test_a_turned_arrow_is_pulled_by_its_position_and_a_faint_one_itself(
        self, opened, hand, moved
    ):
        with opened("rotated_pair") as page:
            before, hub = state_of(page), page.locator(".pin").bounding_box()
            tip = page.locator(".hand").nth(hand).locator(":scope > :last-child").bounding_box()
            (x, y), (r, s) = (
                (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in (hub, tip)
            )
            page.mouse.move(r, s)
            page.mouse.down()
            for turn in (0.1, 0.2, 0.3):  # clockwise
                cos, sin = math.cos(turn), math.sin(turn)
                page.mouse.move(
                    x + cos * (r - x) - sin * (s - y), y + sin * (r - x) + cos * (s - y)
                )
            wanted = {**before, moved: before[moved] + 0.3 / (0.5 if moved in "mn" else 1)}
            assert state_of(page) == pytest.approx(wanted, abs=0.01)

    @pytest.mark.parametrize("width", [390, 820])
    def test_play_stands_before_the_slider_that_it_moves(self, opened, width):
        with opened("clocks", width=width) as page:
            play, slider = (page.locator(e).bounding_box() for e in (".play", "[name=p]"))
            assert 0 < slider["x"] - play["x"] - play["width"] < 50
            assert play["y"] < slider["y"] + slider["height"] / 2 < play["y"] + play["height"]

    @pytest.mark.parametrize(
        ("width", "touch", "least"), [(820, 0, 32), (390, 0, 32), (390, 1, 44)]
    )
    def test_words_are_large_enough_to_press(self, opened, width, touch, least):
        with opened("clocks", width=width, has_touch=bool(touch), is_mobile=bool(touch)) as page:
            words = page.locator(".words button").all()
            assert min(word.bounding_box()["height"] for word in words) >= least

    def test_the_row_of_words_is_one_stop_and_arrows_lead_along_it(self, opened):
        with opened("clocks") as page:
            words = page.get_by_role("toolbar", name="words").get_by_role("button")
            words.first.focus()
            page.keyboard.press("ArrowRight")
            page.keyboard.press("ArrowRight")
            page.keyboard.press("Enter")
            assert at_rest(page)["p"] == 2
            page.keyboard.press("Tab")
            assert not page.evaluate("document.activeElement.closest('.words')")
            page.keyboard.press("Shift+Tab")
            assert words.nth(2).evaluate("(e) => e === document.activeElement")
            expect_none(page.problems)

    def test_a_tap_on_a_hub_turns_no_hand(self, opened):
        with opened("clocks", width=390, has_touch=True, is_mobile=True) as page:
            before = state_of(page)
            box = page.locator(".hit").nth(1).bounding_box()
            page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            assert at_rest(page) == before

    def test_what_was_stopped_between_two_words_goes_on_from_one(self, opened):
        with opened("clocks") as page:
            for key, word in (("ArrowRight", 5), ("ArrowLeft", 4)):
                page.locator(".live").evaluate(SET, {"p": 4.5})
                page.locator("[name=p]").focus()
                page.keyboard.press(key)
                assert state_of(page)["p"] == word

    @EACH_KIND
    def test_arrow_keys_move_by_a_step_and_the_figure_is_said_once(self, opened, name):
        with opened(name) as page:
            expect_none(keyboard_problems(page) + page.problems)

    @EACH_KIND
    def test_things_that_are_pointed_at_say_a_value(self, opened, name):
        with opened(name) as page:
            for selector in kinds(page, "data-tip"):
                mark = page.locator(selector).first
                box = mark.bounding_box()  # beside its middle, where a knob may lie on it
                mark.hover(position={"x": 0.35 * box["width"], "y": 0.4 * box["height"]})
                assert re.search(r"\d", page.locator(".tip").inner_text()), selector
            page.mouse.move(2, 2)
            assert page.locator(".tip").is_hidden()
            expect_none(page.problems)

    @EACH_KIND
    def test_what_a_curve_tells_is_dotted_on_it_and_does_not_cover_it(self, opened, name):
        with opened(name, width=1200) as page:
            for mark in page.locator(".frame:not(.painted, :has(.cell)) > svg[data-tip]").all():
                mark.scroll_into_view_if_needed()
                box, told = mark.bounding_box(), 0
                for share in (0.03, 0.2, 0.35, 0.6, 0.8, 0.97):
                    across, down = share * box["width"], 0.4 * box["height"]
                    page.mouse.move(box["x"] + across, box["y"] + down)
                    if page.locator(".tip").is_visible():  # and no knob is there
                        expect_none(mark.evaluate(BESIDE_THE_CURVE))
                        told += 1
                assert told >= 4
            page.mouse.move(2, 2)
            assert page.locator(".spot").count() == 0
            expect_none(page.problems)

    @EACH_KIND
    def test_what_can_be_pressed_changes_the_state(self, opened, name):
        with opened(name, reduced_motion="reduce") as page:
            for selector in kinds(page, "data-go"):
                group = selector.split(".")[0].replace("='", "^='") + "']"
                group = group.replace("']']", "']")
                before, changed = state_of(page), False
                for button in page.locator(group).all():
                    button.click()
                    changed = changed or state_of(page) != before
                assert changed, selector

    @pytest.mark.parametrize("name", ["rotated_pair", "clocks"])
    def test_what_a_dial_tells_stands_outside_it(self, opened, name):
        with opened(name) as page:
            page.locator("figure").evaluate("e => { e.style.paddingTop = '60px'; }")
            for share in (0.3, 0.8):
                dial = page.locator(".hit").first.bounding_box()
                x, y = (dial["x"] + dial["width"] * 0.5, dial["y"] + dial["height"] * share)
                page.mouse.move(x, y)
                tip = page.locator(".tip").bounding_box()
                assert dial["y"] - 12 < tip["y"] + tip["height"] <= dial["y"]

    def test_a_quarter_turn_of_a_hand_is_a_quarter_of_its_period(self, opened):
        with opened("clocks") as page:
            page.locator(".live").evaluate(SET, {"p": 5})
            box = page.locator("[data-drag='hand.2']").bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            page.mouse.move(x + 20, y)
            page.mouse.down()
            for degrees in range(0, 91, 15):
                turn = math.radians(degrees)
                page.mouse.move(x + 20 * math.cos(turn), y + 20 * math.sin(turn))
            turned = state_of(page)["p"]
            page.mouse.up()
            frequency = figure("clocks").data["inv_freq"][2]
            assert turned == pytest.approx(5 + math.pi / 2 / frequency, abs=1e-3)
            arrive(page, round(turned))  # let go, it moves on to a word

    def test_positions_moved_together_keep_their_distance_and_all_that_depends_on_it(self, opened):
        with opened("clock_pair") as page:
            page.locator("[name=together]").check()
            before = page.locator(".live").evaluate("(el) => el.live.values()")
            for key in ["ArrowRight", "Shift+ArrowRight", "PageUp", "PageDown", "Home"]:
                page.locator("[name=p]").press(key)
                state = state_of(page)
                assert state["q"] - state["p"] == pytest.approx(3)
                assert 0 <= state["p"] <= state["q"] <= 11
                after = page.locator(".live").evaluate("(el) => el.live.values()")
                assert after["cos"] == pytest.approx(before["cos"], abs=1e-9)
                assert after["mean"] == pytest.approx(before["mean"], abs=1e-9)


LISTEN = """() => {
  window.said = [];
  const heard = document.querySelector(".live [role=status]");
  new MutationObserver(() => said.push(heard.textContent))
    .observe(heard, { childList: true, characterData: true, subtree: true });
}"""
ASK = "(el, detail) => { el.dispatchEvent(new CustomEvent('live:set', { detail })); }"


def some_part(name: str) -> dict:
    """One number of a figure, at the end of its slider that is further away."""
    slider = BeautifulSoup(figure(name).html(), "html.parser").select_one("input[type=range]")
    low, high = float(slider["min"]), float(slider["max"])
    now = figure(name).state[slider["name"]]
    return {slider["name"]: low if now > (low + high) / 2 else high}


class TestSet:
    @EACH_KIND
    def test_the_page_sets_it_and_it_goes_back_to_its_first_state(self, opened, name):
        with opened(name) as page:
            reset, first = (
                page.get_by_role("button", name="Back to the first state"),
                state_of(page),
            )
            assert not reset.is_visible()
            part = some_part(name)
            page.locator(".live").evaluate(ASK, part)
            stand(page, {**first, **part})
            shown(page)
            assert reset.is_visible()
            box = reset.bounding_box()
            assert min(box["width"], box["height"]) >= 24
            reset.press("Enter")
            stand(page, first)
            shown(page)
            assert not reset.is_visible()
            assert page.evaluate("document.activeElement.matches('[name]')")
            expect_none(page.problems)

    def test_it_glides_there_and_is_said_once(self, opened):
        with opened("clocks") as page:
            page.evaluate(LISTEN)
            page.evaluate(
                """() => { window.seen = []; const { model } = document.querySelector(".live").live;
                model.on("change:state", () => seen.push(model.get("state").p)); }"""
            )
            page.locator(".live").evaluate(ASK, {"p": 11})
            at_rest(page)
            assert any(4 < p < 11 for p in page.evaluate("seen"))
            page.wait_for_function("said.length > 0")
            page.wait_for_timeout(500)
            assert page.evaluate("said") == [page.locator(".said").inner_text()]

    def test_it_is_there_at_once_for_those_who_want_no_motion(self, opened):
        with opened("clocks", reduced_motion="reduce") as page:
            page.locator(".live").evaluate(ASK, {"p": 11})
            assert state_of(page)["p"] == 11

    def test_a_slider_of_whole_numbers_glides_through_them(self, opened):
        with opened("learned_table") as page:
            page.evaluate(
                """() => { window.seen = []; const { model } = document.querySelector(".live").live;
                model.on("change:state", () => seen.push(model.get("state").r)); }"""
            )
            page.locator(".live").evaluate(ASK, {"r": 0})
            at_rest(page)
            assert all(r % 1 == 0 for r in page.evaluate("seen"))


class TestDigits:
    def test_the_wave_is_on_the_digits_side_at_every_word_and_in_every_half_of_a_dial(self):
        shape = live.digits(base=2, wheels=4)
        for p in range(12):
            found = shape.values({"p": p})
            assert [wave > 0.5 for wave in found["smooth"]] == [d == 1 for d in found["digit"]]
            assert found["digit"] == [p >> wheel & 1 for wheel in range(4)]
            assert [math.sin(turn) > 0 for turn in found["hand"]] == [
                d == 1 for d in found["digit"]
            ]


class TestGrid:
    def test_what_is_clipped_is_said_as_it_is_and_as_it_is_told(self):
        grid = live.relative_grid()
        clipped = {**grid.state, "clip": 2}
        assert ": \N{MINUS SIGN}3, as in 9 cells." in grid.values(grid.state)["said"]
        assert (
            ": \N{MINUS SIGN}3, told as \N{MINUS SIGN}2, as in 55 cells."
            in (grid.values(clipped)["said"])
        )

    def test_no_cell_covers_a_part_of_a_frame(self):
        grid = live.relative_grid(clip=2)
        marks = re.findall(r'<(?:rect|path)[^>]* class="(cell|frames)"', grid.html())
        assert marks == ["cell"] * 144 + ["frames"]
        assert grid.values(grid.state)["frames"].count("h1v1h-1z") == 55


# The names that are seen in the picture, and the points of lines that lie in the box of one.
NAMED = """() => [...document.querySelectorAll(".frame .fore")]
  .filter((e) => e.checkVisibility({ opacityProperty: true })).map((e) => e.innerText)"""
STRUCK = """(name) => {
  const named = [...document.querySelectorAll(".fore")].find((e) => e.innerText === name);
  const box = named.getBoundingClientRect();
  const lines = named.closest(".frame").querySelectorAll("svg path.line:not(.here, .band)");
  return [...lines].flatMap((line) => {
    const place = line.getScreenCTM(), long = line.getTotalLength();
    return [...Array(401).keys()].map((k) => line.getPointAtLength((long * k) / 400))
      .map((point) => point.matrixTransform(place))
      .filter(({ x, y }) => x > box.left && x < box.right && y > box.top && y < box.bottom)
      .map(({ x, y }) => `${name} is struck at ${x}, ${y}`);
  });
}"""


@pytest.mark.parametrize("width", [360, 820])
def test_a_number_at_a_falling_line_does_not_cut_it(opened, width):
    with opened("alibi", width=width, reduced_motion="reduce") as page:
        struck = STRUCK.replace(".fore", ".note").replace(".here, .band", ".faint")
        for head, at in product((0, 3, 7), (0, 4, 7, 9, 9.3, 11)):
            page.locator(".live").evaluate(SET, {"head": head, "at": at})
            for note in page.locator(".note").all():
                assert page.evaluate(struck, note.inner_text()) == []
                whole, box = page.locator(".live").bounding_box(), note.bounding_box()
                assert box["x"] + box["width"] <= whole["x"] + whole["width"]


@pytest.mark.parametrize("name", ["wave", "lines", "alibi"])
def test_a_drag_that_begins_at_the_axis_selects_no_text(opened, name):
    with opened(name) as page:
        box = page.locator(".xticks").first.bounding_box()
        page.mouse.move(box["x"] + 1, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] - 60, steps=4)
        page.mouse.up()
        assert page.evaluate("String(getSelection())") == ""


@pytest.mark.parametrize("width", [1024, 390])
@pytest.mark.parametrize("name", ["lines", "rotated_pair"])
def test_the_ring_of_a_slider_touches_neither_its_name_nor_its_value(opened, name, width):
    with opened(name, width=width) as page:
        page.add_style_tag(
            content=":focus-visible { outline: 3px solid red !important; }"
        )  # book.css
        bar = page.locator(".controls [type=range]").first
        bar.press("ArrowRight")
        ring, *words = bar.evaluate(
            """(bar) => {
              const { outlineOffset, outlineWidth } = getComputedStyle(bar);
              const out = parseFloat(outlineOffset) + parseFloat(outlineWidth);
              const { left, right, top } = bar.getBoundingClientRect();
              const text = document.createRange();
              return [{ left: left - out, right: right + out, top: top - out },
                ...[...bar.parentElement.querySelectorAll("span, output")].map((e) => {
                  text.selectNodeContents(e);
                  return text.getBoundingClientRect().toJSON();
                })];
            }"""
        )
        assert len(words) == 2
        for word in words:
            beside = max(ring["left"] - word["right"], word["left"] - ring["right"])
            assert max(beside, ring["top"] - word["bottom"]) >= 1


class TestLines:
    def test_a_name_that_gave_way_has_a_leader_from_the_end_of_its_line(self, opened):
        with opened("lengths") as page:
            assert page.locator(".leads path").count() == 0  # the two names are far apart
        rows = {name: [i, 1 + i / 50] for i, name in enumerate("abc")}
        close = live.lines([0, 1], rows, xlabel="x", ylabel="y")
        soup = BeautifulSoup(close.html(), "html.parser")
        leads = soup.select(".leads path")
        names = [
            float(re.search(r"--at:([\d.]+)", e["style"])[1]) for e in soup.select(".names > div")
        ]
        assert len(leads) >= 2
        for lead in leads:
            left, start, right, end = map(float, re.findall(r"[\d.]+", lead["d"]))
            assert (left, right) == (0, 100)
            assert min(abs(1 - end / 100 - at) for at in names) < 1e-3
            assert abs(end - start) > 1

    @pytest.mark.parametrize("name", ["lengths", "lines", "lines-other"])
    def test_names_stand_apart_and_beside_the_picture(self, opened, name):
        with opened(name) as page:
            frame = page.locator(".frame").first.bounding_box()
            boxes = [each.bounding_box() for each in page.locator(".names > div").all()]
        assert all(box["x"] >= frame["x"] + frame["width"] for box in boxes)
        boxes.sort(key=lambda box: box["y"])
        for upper, lower in pairwise(boxes):
            assert upper["y"] + upper["height"] <= lower["y"] + 0.5

    def test_lines_that_leave_the_picture_are_named_as_they_leave_it(self):
        lines = {"late": [0, 2, 9.8], "early": [0, 9.9, math.nan], "low": [0, 1, 3]}
        shown = live.lines([1, 2, 3], lines, xlabel="x", ylabel="y")
        names = re.findall(r"--at:([\d.]+)[^>]*><i></i><span>(\w+)<", shown.html())
        assert [name for _, name in sorted(names)] == ["low", "late", "early"]
        soup = BeautifulSoup(shown.html(), "html.parser")
        above = {flag.text: flag["style"] for flag in soup.select(".flag")}
        colours = {span.text: span.parent["style"] for span in soup.select(".names span")}
        assert list(above) == ["early"]  # late ends beside its name
        assert above["early"].startswith("--x:2;")
        assert re.search(r"--c:[^;]+", above["early"])[0] in colours["early"]

    def test_a_line_that_is_pressed_comes_to_the_front(self, opened):
        with opened("lines") as page:
            box = page.locator(".frame").bounding_box()
            page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + 0.12 * box["height"])
            settle(page)
            assert state_of(page)["line"] == "root"
            assert page.locator(".names [style*='--on: 1']").inner_text().startswith("root")

    def test_a_press_far_from_all_lines_moves_the_place_alone(self, opened):
        with opened("lines") as page:
            box = page.locator(".frame").bounding_box()
            y = box["y"] + 0.4 * box["height"]
            page.mouse.move(box["x"] + 0.5 * box["width"], y)
            tip = page.locator(".tip").inner_text()
            page.mouse.down()
            page.mouse.move(box["x"] + 0.95 * box["width"], y - 0.3 * box["height"], steps=6)
            settle(page)
            assert page.locator(".names [style*='--on: 1']").inner_text().startswith("sine")
            page.mouse.up()  # upon another line
            assert state_of(page)["line"] == "sine"
            assert state_of(page)["at"] > 50
            assert tip.startswith("sine: ")

    def test_what_is_pointed_at_is_told_beside_the_names_and_is_not_chosen(self, opened):
        with opened("lines") as page:
            box, before = page.locator(".frame").bounding_box(), state_of(page)
            shown = page.locator(".names b, .stands b, p.said")
            first = shown.all_inner_texts()
            page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 0.9 * box["height"])
            settle(page)
            tip = page.locator(".tip").inner_text()
            value, place = re.fullmatch(".+: (.+) at (.+)", tip).groups()
            assert shown.all_inner_texts() != first
            assert value in page.locator(".names [style*='--on: 1']").inner_text()
            assert page.locator(".stands b").inner_text() == place
            assert state_of(page) == before
            page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + box["height"] + 400)
            settle(page)
            assert shown.all_inner_texts() == first

    def test_a_second_picture_shows_from_nearer_what_lies_low(self, opened):
        low, high = 0.5 - 0.06 * 1.1, 1.6  # of the values, a little less than the least
        with opened("lines-other") as page:
            first, second = page.locator(".frame").all()
            assert first.bounding_box()["x"] == second.bounding_box()["x"]
            assert first.bounding_box()["width"] == second.bounding_box()["width"]
            box, knob = second.bounding_box(), second.locator(".knob")
            seen = "e => { const b = e.getBoundingClientRect(), at = document.elementFromPoint("
            seen += "b.x + b.width / 2, b.y + b.height / 2); return at === e; }"
            for line, value in (("b", 1), ("c", 0.5), ("a", 3)):
                page.locator(".live").evaluate(SET, {"line": line, "at": 6})
                at = knob.bounding_box()
                share = 1 - (at["y"] + at["height"] / 2 - box["y"]) / box["height"]
                assert share == pytest.approx((value - low) / (high - low), abs=0.02)
                assert knob.evaluate(seen) == (value < high)
            y = box["y"] + (1 - (1 - low) / (high - low)) * box["height"]
            page.mouse.move(box["x"] + 2, y)
            settle(page)  # the knob is under the pointer now
            page.mouse.down()
            page.mouse.up()
            assert state_of(page) == {"line": "b", "at": pytest.approx(6, abs=0.02)}

    def test_beside_it_stand_the_names_of_what_ends_there(self, opened):
        lines = {"up": [1, 9], "low": [1, 2], "lower": [2, 1.9], "gone": [1, math.nan]}
        shown = live.lines([0, 1], lines, xlabel="x", ylabel="y", nearer=3, start="up")
        soup = BeautifulSoup(shown.html(), "html.parser")
        assert [e.text for e in soup.select(".names.low > div")] == ["low", "lower"]
        with opened("lines-other") as page:
            box = page.locator(".frame").nth(1).bounding_box()
            name = page.locator(".names.low > div").bounding_box()
            end = 1 - (1.5 - 0.434) / (1.6 - 0.434)  # of a, the only one that gets there
            middle = (name["y"] + name["height"] / 2 - box["y"]) / box["height"]
            assert middle == pytest.approx(end, abs=0.03)
            assert name["x"] >= box["x"] + box["width"]

    @pytest.mark.parametrize("nearer", [0.4, 0.95, 1, 3, 3.05, -1])
    def test_a_second_picture_ends_between_the_values(self, nearer):
        with pytest.raises(ValueError, match=re.escape(f"got {nearer}")):
            live.lines([0, 1], {"a": [1, 3]}, xlabel="x", ylabel="y", nearer=nearer)

    def test_a_second_picture_may_end_at_0(self):
        shown = live.lines([0, 1], {"a": [-1, 3]}, xlabel="x", ylabel="y", nearer=0)
        assert len(BeautifulSoup(shown.html(), "html.parser").select(".frame")) == 2

    @pytest.mark.parametrize("says", ["{z}", "{", "{}"])
    def test_a_sentence_asks_for_what_there_is(self, says):
        with pytest.raises(ValueError, match=re.escape(f"got {says!r}")):
            live.lines([0, 1], {"a": [1, 2]}, xlabel="x", ylabel="y", says=says)

    def test_it_begins_where_it_is_told(self):
        told = {"xlabel": "x", "ylabel": "y", "xscale": "log"}
        shown = live.lines([1, 4, 16], {"a": [1, 2, 3]}, **told, at=4)
        assert shown.state["at"] == 2
        assert "At 4," in shown.values(shown.state)["said"]
        for outside in (0.5, 17):
            with pytest.raises(ValueError, match=f"at must be from 1 to 16, got {outside}"):
                live.lines([1, 4, 16], {"a": [1, 2, 3]}, **told, at=outside)

    def test_on_a_phone_the_line_in_front_is_named_in_its_colour_and_meets_no_other(self, opened):
        with opened("lines-other", width=390) as page:
            for front in ("a", "b"):
                page.locator("[name=line]").select_option(front)
                settle(page)
                assert page.evaluate(NAMED) == [front]
                assert page.evaluate(STRUCK, front) == []
            assert not page.locator(".names.low").is_visible()
            names = " ".join(page.locator(".names:not(.low) > div").all_inner_texts())
            assert names.split() == ["b", "2.000", "a", "2.500", "c", "\N{EN DASH}"]  # from above

    def test_on_a_screen_names_and_values_stand_beside_the_picture_alone(self, opened):
        with opened("lines") as page:
            for share in (0, 0.3, 1):
                page.locator("[name=at]").fill(str(56 * share))
                settle(page)
                assert page.evaluate(NAMED) == []
                frame = page.locator(".frame").bounding_box()
                for value in page.locator(".names b").all():
                    assert value.is_visible()
                    assert float(value.evaluate("e => getComputedStyle(e).opacity")) == 1
                    assert value.bounding_box()["x"] >= frame["x"] + frame["width"]

    @pytest.mark.parametrize("seed", range(20))
    def test_a_name_in_the_picture_meets_no_line(self, seed):
        chance = random.Random(seed)
        drawn = [
            [(x / 9, min(1, max(0, chance.gauss(start, 0.1)))) for x in range(10)]
            for start in (0.1, 0.5, 0.5, 0.9)
        ]
        own, *others = drawn
        if at := _room(10, own, others):
            wide, tall = LETTER * 10 / PHONE, LETTERS / HEIGHT
            for points in drawn:
                for step in range(1001):
                    x = step / 1000
                    (x0, y0), (x1, y1) = points[min(8, int(x * 9))], points[min(8, int(x * 9)) + 1]
                    y = y0 + (y1 - y0) * (x - x0) / (x1 - x0)
                    assert abs(x - at[0]) > wide / 2 or not at[1] < y < at[1] + tall

    def test_where_there_is_no_room_the_picture_holds_no_name(self):
        crowd = [[(0.0, share / 20), (1.0, share / 20)] for share in range(21)]
        assert _room(5, crowd[10], crowd) is None
        assert _room(60, [(0.0, 0.5), (1.0, 0.5)], []) is None
        assert _room(5, [(0.0, 0.5), (1.0, 0.5)], []) is not None

    def test_levels_of_one_name_are_named_once(self):
        levels = {"truth": [1, 2, 3], "chance": 1.5}
        shown = live.lines([0, 1], {"a": [1, 2]}, xlabel="x", ylabel="y", levels=levels).html()
        soup = BeautifulSoup(shown, "html.parser")
        assert [e.text for e in soup.select(".names .level span")] == ["truth", "chance"]
        assert len(soup.select("path.dotted")) == 4

    def test_on_a_phone_no_number_lies_upon_another(self, opened):
        with opened("lines-other", width=390) as page:
            badge = page.locator(".where").bounding_box()
            for tick in page.locator(".xticks span").all():
                box = tick.bounding_box()
                clear = (
                    box["x"] > badge["x"] + badge["width"] or box["x"] + box["width"] < badge["x"]
                )
                shown = tick.evaluate("e => +getComputedStyle(e).opacity")
                assert clear or not shown, tick.inner_text()
            assert page.locator(".xticks span").last.evaluate("e => +getComputedStyle(e).opacity")

    def test_methods_have_their_names(self):
        shown = live.lines([0, 1], {"rope": [1, 2], "b = -8": [1, 3]}, xlabel="x", ylabel="y")
        assert shown.data["shown"] == ["RoPE", "b\xa0=\xa0\N{MINUS SIGN}8"]  # no line ends within

    def test_a_number_keeps_its_unit(self):
        shown = live.lines([0, 1], {"a": [1, 2]}, xlabel="at (words)", ylabel="loss (nats)")
        assert shown.values(shown.state)["said"] == "At 1\xa0words, a: 2.00\xa0nats."

    @pytest.mark.parametrize("width", [390, 820])
    def test_the_number_of_the_place_stands_under_its_line(self, opened, width):
        with opened("lines", width=width) as page:
            for share in (0, 0.02, 0.3, 0.5, 0.77, 1):
                page.locator("[name=at]").fill(str(56 * share))
                settle(page)
                badge, line = (page.locator(f".{c}").bounding_box() for c in ("where", "here"))
                assert abs(badge["x"] + badge["width"] / 2 - line["x"]) < 2, share

    def test_over_the_values_stands_where_they_are(self, opened):
        with opened("lines") as page:
            page.locator("[name=at]").fill("20")
            settle(page)
            head, value = page.locator(".stands"), page.locator(".names b").first.bounding_box()
            assert head.inner_text() == "at 20"
            box = head.bounding_box()
            assert abs(box["x"] + box["width"] - value["x"] - value["width"]) < 1
            tops = [name.bounding_box()["y"] for name in page.locator(".names > div").all()]
            assert box["y"] + box["height"] <= min(tops) + 0.5


# ---------------------------------------------------------------------------- motion


PLAYED = """async (el) => {
  const seen = [el.live.model.get("state").p];
  el.live.model.on("change:state", () => seen.push(el.live.model.get("state").p));
  el.querySelector("[data-play]").click();
  await new Promise((done) => setTimeout(done, 2500));
  const played = [...seen], label = el.querySelector("[data-play]").innerText;
  el.querySelector("[data-play]").click();
  await new Promise((done) => setTimeout(done, 800));
  const stopped = seen.length;
  await new Promise((done) => setTimeout(done, 200));
  return [played, seen.slice(played.length), seen.length - stopped, label];
}"""


PRESSED = """(el) => new Promise((done) => {
  const seen = [];
  el.live.model.on("change:state", () => {
    seen.push(el.live.model.get("state").p);
    if (seen.at(-1) === 9) done(seen);
  });
  el.querySelector("[data-go='word.9']").click();
})"""


POSITION = "document.querySelector('.live').live.model.get('state').p"


def arrive(page: Page, position: float) -> None:
    """Wait until the first position is there."""
    page.wait_for_function(f"{POSITION} === {position}")


class TestMotion:
    def test_play_moves_on_until_it_is_pressed_again(self, opened):
        with opened("clocks") as page:
            seen, landing, late, label = page.locator(".live").evaluate(PLAYED)
            assert len(set(seen)) > 10
            assert seen == sorted(seen)
            assert landing[-1] == round(seen[-1])  # it is let go at a word
            assert late == 0
            assert (label, page.locator("[data-play]").inner_text()) == ("Pause", "Play")

    def test_play_ends_at_the_end_and_starts_again_from_the_start(self, opened):
        with opened("clocks") as page:
            page.locator(".live").evaluate(SET, {"p": 10.9})
            page.locator("[data-play]").click()
            arrive(page, 11)
            page.wait_for_function("!document.querySelector('[data-playing]')")
            page.locator("[data-play]").click()
            page.wait_for_function(f"{POSITION} < 5")

    def test_who_prefers_less_motion_sees_steps(self, opened):
        with opened("clocks", reduced_motion="reduce") as page:
            seen = page.locator(".live").evaluate(PLAYED)[0]
            assert {math.floor(p) for p in seen} == set(seen)
            page.locator("[data-go='word.9']").click()
            assert state_of(page)["p"] == 9

    def test_a_word_that_is_pressed_is_reached_smoothly(self, opened):
        with opened("clocks") as page:
            seen = page.locator(".live").evaluate(PRESSED)
            assert seen == sorted(seen)
            assert seen[-1] == 9
            assert any(4 < p < 9 for p in seen)

    @pytest.mark.parametrize("motion", ["no-preference", "reduce"])
    def test_a_figure_that_arrives_comes_to_its_first_state_and_says_nothing(self, browser, motion):
        page = browser.new_page(reduced_motion=motion, viewport={"width": 820, "height": 900})
        page.set_content(f"<main style='padding-top:2000px'>{live.clocks(arrives=1).html()}</main>")
        page.wait_for_timeout(300)
        assert state_of(page)["p"] == 4  # it waits until it is seen
        page.evaluate("""() => {
          const el = document.querySelector(".live"), { model } = el.live;
          window.places = [], window.offers = [];
          model.on("change:state", () => {
            places.push(model.get("state").p);
            offers.push(!el.querySelector(".reset").hidden);
          });
          scrollTo(0, 2000);
        }""")
        if motion == "no-preference":
            page.wait_for_function("places.at(-1) === 4")
            places = page.evaluate("places")
            assert places == sorted(places)
            assert 1 <= places[0] < 1.5
            assert len(places) > 10
        page.wait_for_timeout(1000)
        assert state_of(page)["p"] == 4
        assert page.locator(".heard").text_content() == ""
        assert not any(page.evaluate("offers"))
        page.close()

    def test_who_takes_hold_of_a_figure_that_arrives_has_it(self, browser):
        page = browser.new_page(viewport={"width": 820, "height": 900})
        page.set_content(live.clocks(arrives=0).html())
        page.wait_for_function(f"0 < {POSITION} && {POSITION} < 3")
        page.locator("[name=p]").fill("9")
        page.wait_for_timeout(1000)
        assert state_of(page)["p"] == 9
        assert page.locator(".heard").text_content().startswith("Position 9: ")
        page.close()

    def test_who_presses_pause_stops_a_figure_that_arrives(self, browser):
        page = browser.new_page(viewport={"width": 820, "height": 900})
        page.set_content(live.clocks(arrives=0).html())
        page.wait_for_function(f"0 < {POSITION} && {POSITION} < 3")
        button = page.locator(".play")
        assert button.inner_text() == "Pause"
        button.press("Enter")
        page.wait_for_timeout(1000)
        assert button.inner_text() == "Play"
        assert state_of(page)["p"] in (0, 1, 2, 3)  # at the nearest word, not at 4
        page.close()

    @EACH_KIND
    def test_nothing_moves_by_itself(self, opened, name):
        with opened(name) as page:
            before = shown(page)
            page.wait_for_timeout(300)
            assert shown(page) == before


# ---------------------------------------------------------------------------- looks


LETTERED = """(el, colour) => {
  el.style.outline = `1px solid ${colour}`; // as the browser computes it
  el.style.background = "Canvas";
  const { outlineColor, backgroundColor } = getComputedStyle(el);
  return [outlineColor, backgroundColor].map((rgb) => rgb.match(/[0-9.]+/g).map(Number));
}"""


def contrast(one: list[float], other: list[float]) -> float:
    """Of two colours, 0 to 255, as WCAG computes it."""

    def luminance(rgb: list[float]) -> float:
        parts = [c / 255 for c in rgb[:3]]
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def letter_problems(page: Page) -> list[str]:
    """Words below 11 pixels, and marks beyond the edges of the screen."""
    return page.evaluate(
        """() => {
          const problems = [], wide = document.documentElement.scrollWidth;
          if (wide > innerWidth) problems.push(`the page is ${wide} pixels wide`);
          for (const e of document.querySelectorAll(".live *")) {
            const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
            if (!text || e.matches("style, script") || !e.checkVisibility()) continue;
            const { a = 1, b = 0 } = e.getScreenCTM?.() ?? {}; // how much a drawing is stretched
            const size = parseFloat(getComputedStyle(e).fontSize) * Math.hypot(a, b);
            if (size < 11) problems.push(`${e.className} ${e.textContent}: ${size} pixels`);
            const { left, right } = e.getBoundingClientRect();
            if (left < -0.5 || right > innerWidth + 0.5)
              problems.push(`${e.className} ${e.textContent}: from ${left} to ${right}`);
          }
          return problems;
        }"""
    )


def paper_problems(page: Page) -> list[str]:
    """Paper, and a browser without JavaScript: the marks are there, the controls are not."""
    return page.evaluate(
        """() => [
          ...[...document.querySelectorAll(".live .controls *")]
            .filter((e) => e.checkVisibility()).map((e) => `shows ${e.outerHTML.slice(0, 40)}`),
          ...[...document.querySelectorAll(".live :is(svg, .said)")]
            .filter((e) => !e.matches(".links, .knob *, .phone *"))
            .filter((e) => !e.getBoundingClientRect().height)
            .map((e) => `does not show ${e.outerHTML.slice(0, 40)}`),
        ]"""
    )


def accessibility_problems(page: Page) -> list[str]:
    """What axe-core finds with its default rules."""
    result = Axe().run(page, options={"resultTypes": ["violations"], "preload": False})
    return [
        f"{violation['id']}: {' '.join(map(str, node['target']))}"
        for violation in result.response["violations"]
        for node in violation["nodes"]
    ]


# Each clock: where its dial stands, its name, its bar and its number.
CELLS = """() => [...document.querySelectorAll(".clock")].map((clock) =>
  [clock.querySelector(".hit"), ...clock.querySelectorAll(".period, .bar, .bar ~ span")]
    .map((e) => {
      const letters = document.createRange();
      letters.selectNodeContents(e);
      const place = e.matches(".period, span") ? letters : e;
      const { left, top, right, bottom } = place.getBoundingClientRect();
      return [left, top, right, bottom]; }))"""

# Each bar: how long it is, as a share of its place, and below 0 what is taken away.
BARS = """() => [...document.querySelectorAll(".bar")].map((bar) => {
  const drawn = getComputedStyle(bar, "::after"), lies = bar.offsetWidth > bar.offsetHeight;
  const [long, from, all] = lies
    ? [drawn.width, drawn.left, bar.clientWidth] : [drawn.height, drawn.bottom, bar.offsetHeight];
  return (parseFloat(from) < all / 2 - 0.5 ? -1 : 1) * parseFloat(long) / all; })"""


class TestClocks:
    @pytest.mark.parametrize("name", ["query_key_clocks-other", "query_key_clocks-trained"])
    def test_a_hand_has_left_its_arc_where_training_has_not_seen_the_turn(self, name):
        shown = figure(name)
        width = np.array(shown.data["width"])
        for state in some_states(name):
            state["d"] = round(state["d"], 1)
            for row in shown.values(state)["rows"]:
                run = np.remainder(np.array(row["q"]) - row["ring"] + 1e-9, 2 * math.pi)
                assert [*(run > width + 2e-9)] == [*map(bool, row["new"])]

    def test_a_turn_is_new_at_the_distance_that_is_told(self, opened):
        shown = figure("query_key_clocks-trained")
        with opened("query_key_clocks-trained") as page:
            for d, told, new in ((11, "11", 0), (11.04, "11", 0), (11.06, "11.1", 2)):
                values = shown.values({"d": d, "n": 0})
                assert (values["d_said"], values["rows"][0]["news"]) == (told, new)
                drawn = page.locator(".live").evaluate(SET, {"d": d, "n": 0})
                assert drawn["rows"][0]["news"] == new

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"position": 13}, "position must be from 0 to 12, got 13"),
            ({"position": -1}, "position must be from 0 to 12, got -1"),
            ({"offset": 3, "farthest": 2}, "offset must be from 0 to 2, got 3"),
        ],
    )
    def test_a_step_stays_within_its_sliders(self, given, said):
        with pytest.raises(ValueError, match=said):
            live.shift_clocks(**given)

    @pytest.mark.parametrize(("hand", "moved"), [("p", "position"), ("q", "offset")])
    def test_of_a_step_one_hand_is_where_it_begins_and_one_its_length(self, opened, hand, moved):
        with opened("shift_clocks") as page:
            before, tip = state_of(page), page.locator(f".hand.{hand} circle").nth(1).bounding_box()
            x, y = tip["x"] + tip["width"] / 2, tip["y"] + tip["height"] / 2
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x - 25, y + 8, steps=4)  # some 40°, more than a position
            page.mouse.up()
            settle(page)
            after = state_of(page)
        assert [name for name in after if after[name] != before[name]] == [moved]

    def test_dashes_lie_on_the_part_of_the_rim_that_training_has_not_seen(self, opened):
        with opened("query_key_clocks-trained") as page:
            width = figure("query_key_clocks-trained").data["width"]
            for n in (0, 7):
                values = page.locator(".live").evaluate(SET, {"d": 20, "n": n})
                drawn = page.locator(".warn").evaluate_all(
                    """(all) => all.map((e) => {
                      const [on, c] = [e.getScreenCTM(), e.ownerSVGElement.getScreenCTM()];
                      const long = e.getTotalLength();
                      return [0, 0.5, 1].map((part) => {
                        const at = e.getPointAtLength(part * long).matrixTransform(on);
                        return Math.atan2(at.x - c.e, c.f - at.y); // clockwise from 12
                      });
                    })"""
                )
                clocks = [i for i, seen in enumerate(width) if seen < 2 * math.pi]
                assert len(drawn) == len(clocks) == 2
                for i, angles_of in zip(clocks, drawn, strict=True):
                    begin, middle, end = (
                        (a - values["rows"][0]["ring"][i] + 1e-6) % (2 * math.pi) for a in angles_of
                    )
                    assert begin == pytest.approx(width[i], abs=0.01)
                    assert middle == pytest.approx((width[i] + 2 * math.pi) / 2, abs=0.01)
                    assert min(end, 2 * math.pi - end) < 0.01

    @pytest.mark.parametrize("width", [360, 390, 560])
    def test_on_a_phone_eight_stand_four_by_four_with_all_that_is_theirs(self, opened, width):
        with opened("query_key_clocks", width=width) as page:
            page.locator(".live").evaluate(SET, some_states("query_key_clocks")[1])
            cells = page.evaluate(CELLS)
        assert len(cells) == 8
        rows = sorted({round(hit[1]) for hit, *_ in cells})
        assert [sum(round(hit[1]) == y for hit, *_ in cells) for y in rows] == [4, 4]
        for hit, period, bar, said in cells:
            assert hit[2] - hit[0] >= 60  # a finger takes hold of it
            for above, below in pairwise([period, hit, bar, said]):
                assert above[3] <= below[1] + 1
                assert above[0] + above[2] == pytest.approx(below[0] + below[2], abs=2)  # one axis
        for (_, _, bar, said), (right, *_) in pairwise(cells):
            beyond = max(bar[2], said[2])
            assert right[0] - beyond >= 12 or right[1] > said[3]

    @pytest.mark.parametrize("width", [390, 820])
    def test_the_sum_of_the_bars_is_a_bar_of_the_row_that_holds_them_all(self, opened, width):
        with opened("query_key_clocks", width=width) as page:
            for state in some_states("query_key_clocks")[:8]:
                page.locator(".live").evaluate(SET, state)
                *parts, total = page.evaluate(BARS)
                assert len(parts) == 8
                assert total == pytest.approx(sum(parts) / 8, abs=0.02)
            assert page.locator(".total .bar").bounding_box()["width"] > 0.98 * min(width - 24, 790)
            assert page.locator(".ends span").all_inner_texts() == [
                "\N{MINUS SIGN}8.00",
                "0",
                "8.00",
            ]

    @pytest.mark.parametrize("width", [390, 820])
    def test_the_sums_of_two_rows_have_one_scale(self, opened, width):
        name = "query_key_clocks-other"
        with opened(name, width=width) as page:
            scales = [bar.bounding_box() for bar in page.locator(".total .bar").all()]
            assert len({(round(b["x"]), round(b["width"])) for b in scales}) == 1
            for state in some_states(name)[:8]:
                page.locator(".live").evaluate(SET, state)
                rows = figure(name).values(state)["rows"]
                assert page.evaluate(BARS)[-2:] == pytest.approx(
                    [row["score"] / figure(name).data["most"] / 2 for row in rows], abs=0.02
                )
                said = page.locator(".total > b").all_inner_texts()
                assert said == [row["score_said"] for row in rows]

    def test_sums_and_sliders_stay_in_view_on_a_small_phone(self, opened):
        with opened("query_key_clocks-other", width=390) as page:
            page.set_viewport_size({"width": 390, "height": 600})  # the figure is higher
            page.locator(".live").evaluate("e => e.scrollIntoView()")
            settle(page)
            assert page.locator(".live").bounding_box()["height"] > 700
            for part in (".total b >> nth=0", ".total b >> nth=1", "[name=d]", "[name=n]"):
                box = page.locator(part).bounding_box()
                assert 0 <= box["y"] <= 600 - box["height"], part

    @pytest.mark.parametrize("name", ["clocks", "digits", "wave"])
    def test_on_a_phone_all_that_moves_it_stands_under_it_in_one_place(self, opened, name):
        with opened(name, width=390) as page:
            page.set_viewport_size({"width": 390, "height": 1200})  # where nothing sticks
            moving = page.locator(".controls").bounding_box()
            inside = [e.bounding_box() for e in page.locator(".live :is(.play, input)").all()]
            for part in inside:
                assert moving["y"] <= part["y"]
                assert part["y"] + part["height"] <= moving["y"] + moving["height"]
            for dial in page.locator(".clock, .plot").all():
                box = dial.bounding_box()
                assert box["y"] + box["height"] <= moving["y"]
            for bar in page.locator(".live input").all():  # a finger has room to travel
                assert bar.bounding_box()["width"] > 200

    @pytest.mark.parametrize("name", ["query_key_clocks-other", "clock_pair"])
    def test_a_phone_shows_all_and_what_moves_it_at_once(self, opened, name):
        with opened(name, width=390) as page:
            page.set_viewport_size({"width": 390, "height": 1200})  # where nothing sticks
            top = page.locator(".live").bounding_box()["y"]
            sliders = page.locator(".controls input").last.bounding_box()
            assert sliders["y"] + sliders["height"] - top < 800  # of 844
            for clock in page.locator(".clock > svg").all():
                assert clock.bounding_box()["width"] >= 60

    @pytest.mark.parametrize(("width", "beyond"), [(1024, 0), (1440, 256)])
    def test_in_the_book_eight_reach_into_the_rail_of_a_wide_page(self, opened, width, beyond):
        for name, more in (("clock_pair", beyond), ("query_key_clocks", beyond), ("clocks", 0)):
            with opened(name, width=width) as page:
                page.locator("figure").evaluate("e => { e.className = 'bd-article'; }")
                figure, column = (page.locator(c).bounding_box() for c in (".live", "figure"))
                assert figure["width"] - column["width"] == pytest.approx(more)
                # what stands there gives way to these, as sphinx-book-theme has it
                assert page.locator(".popout").count() == (name != "clocks")

    def test_an_arc_is_as_deep_as_it_reaches_far_and_those_of_other_words_are_not_drawn(
        self, opened
    ):
        with opened("clocks") as page:
            page.locator(".live").evaluate(SET, {"p": 11})
            settle(page)
            arcs = page.locator(".links path").evaluate_all(
                "all => all.map((e) => [e.getBBox().width, e.getBBox().height,"
                " +getComputedStyle(e).opacity])"
            )
        assert sum(on for _, _, on in arcs) == 1
        assert [on for wide, _, on in arcs if wide == pytest.approx(10)] == [1]  # cat, at 1 and 11
        for wide, deep, _ in arcs:
            assert deep == pytest.approx(0.975 * math.sqrt(wide / 10), rel=1e-3)

    def test_where_no_arcs_are_drawn_words_that_are_alike_are_underlined(self, opened):
        lines = """(all) => all.map((e) => getComputedStyle(e).textDecorationColor)
          .map((colour) => !/\\/ 0\\)$|, 0\\)$/.test(colour))"""
        with opened("clocks", width=390) as page:
            assert not page.locator(".links").is_visible()
            for p, alike in ((11, [1]), (4, [0, 7, 10]), (2, [])):
                page.locator(".live").evaluate(SET, {"p": p})
                settle(page)
                lit = page.locator(".words button").evaluate_all(lines)
                assert [i for i, on in enumerate(lit) if on] == alike


class TestLooks:
    @pytest.mark.parametrize("width", [360, 768, 1024, 1440])
    @EACH
    def test_letters_are_large_enough_and_all_fits(self, opened, name, width):
        with opened(name, width=width) as page:
            expect_none(letter_problems(page))

    @pytest.mark.parametrize("width", [360, 1440])
    @pytest.mark.parametrize("theme", ["light", "dark"])
    @EACH_KIND
    def test_axe_finds_nothing(self, opened, name, theme, width):
        with opened(name, theme=theme, width=width) as page:
            expect_none(accessibility_problems(page))

    @pytest.mark.parametrize("width", [390, 820])
    @EACH
    def test_no_sentence_pushes_what_stands_below(self, opened, name, width):
        with opened(name, width=width) as page:
            tall = page.locator(".live").bounding_box()["height"]
            heights = page.locator(".live").evaluate(HEIGHTS, some_states(name, 30))
            expect_none([said for said, now in heights if abs(now - tall) > 1])

    @EACH_KIND
    def test_it_follows_the_theme_wherever_it_stands(self, opened, name):
        with opened(name) as page:
            ink = "getComputedStyle(document.querySelector('.live')).getPropertyValue('--p')"
            dark = "document.querySelector('.live').matches('[data-dark]')"
            light = page.evaluate(ink)
            page.evaluate("delete document.documentElement.dataset.theme")  # of another host
            page.evaluate("document.body.style.color = '#ddd'")
            page.wait_for_function(dark)
            night = page.evaluate(ink)
            assert night != light
            page.evaluate("document.documentElement.dataset.theme = 'light'")  # as the book tells
            page.wait_for_function(f"!{dark}")
            assert page.evaluate(ink) == light
            page.evaluate("document.documentElement.dataset.theme = 'dark'")
            assert page.evaluate(ink) == night

    @EACH_KIND
    def test_forced_colours_take_the_systems(self, opened, name):
        with opened(name, forced_colors="active") as page:
            colour = page.locator(".live").evaluate(
                "(e) => getComputedStyle(e).getPropertyValue('--p')"
            )
            assert colour == "Highlight"

    @pytest.mark.parametrize("theme", ["light", "dark"])
    def test_forced_colours_are_read_on_the_systems_paper(self, opened, theme):
        with opened("lines", theme=theme, forced_colors="active") as page:
            for name in PALETTE:
                word, paper = page.locator(".live").evaluate(LETTERED, f"var(--{name})")
                assert contrast(word, paper) > 4.5, name

    def test_the_tips_of_query_and_key_differ_by_more_than_a_hue(self, opened):
        for forced in ({}, {"forced_colors": "active"}):
            with opened("rotated_pair", **forced) as page:
                looks = "e => [getComputedStyle(e).fill, getComputedStyle(e).stroke]"
                query, key = (
                    page.locator(f".hand.{hand}:not(.rest) path").evaluate(looks) for hand in "pq"
                )
                assert query[1] == "none"
                assert key[0] != key[1]

    @pytest.mark.parametrize("theme", ["light", "dark"])
    def test_controls_that_the_edge_of_a_phone_holds_have_an_edge(self, opened, theme):
        edge = "e => getComputedStyle(e, '::before').content"
        for name, has in (("query_key_clocks", True), ("clocks", True), ("learned_table", False)):
            with opened(name, width=390, theme=theme) as page:
                controls = page.locator(".foot, .controls:not(.foot > *)")
                box = controls.bounding_box()
                page.set_viewport_size({"width": 390, "height": int(box["y"]) - 20})
                settle(page)
                assert (controls.evaluate(edge) != "none") == has
                assert (controls.bounding_box()["y"] < box["y"]) == has
                page.evaluate("scrollTo(0, 250)")
                settle(page)
                assert controls.evaluate(edge) == "none"

    @EACH
    def test_paper_shows_the_marks_alone(self, opened, name):
        with opened(name) as page:
            page.emulate_media(media="print")
            expect_none(paper_problems(page))

    @EACH
    def test_it_shows_without_javascript(self, opened, name):
        with opened(name, java_script_enabled=False) as page:
            for control in page.locator(".live :is(.controls, .rail)").all():
                assert control.is_hidden()
            assert (
                page.locator(".live .said").inner_text()
                == figure(name).values(figure(name).state)["said"]
            )
            for picture in page.locator(".live svg:not(.links, .phone *)").all():
                assert picture.is_visible()


# ---------------------------------------------------------------------------- time


FRAME = """async ([el, moves]) => {
  const times = [], control = el.querySelector("input[type=range]");
  for (let i = 0; i < 15; i++) {
    await new Promise((done) => requestAnimationFrame(done));
    const begun = performance.now();
    if (moves) {
      control.value = +control.min + ((i % 9) + 0.5) / 9 * (control.max - control.min);
      control.dispatchEvent(new Event("input", { bubbles: true }));
    }
    await new Promise((done) => requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = done;
      channel.port2.postMessage(0);
    }));
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[7];
}"""


def frame_times(page: Page) -> tuple[float, float]:
    """Medians, moved and bare, on a processor four times slower."""
    slow = page.context.new_cdp_session(page)
    slow.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    el = page.locator(".live").element_handle()
    moved, bare = (page.evaluate(FRAME, [el, moves]) for moves in (True, False))
    slow.detach()
    print(f"a new frame after {moved:.0f} ms, a bare one after {bare:.0f} ms")
    return moved, bare


def in_time(moved: float, bare: float) -> bool:
    """Whether a reader sees a frame at once, or a machine is too slow to show any in time."""
    return moved <= max(50, 3 * bare)


@EACH_KIND
@pytest.mark.alone
def test_a_new_frame_is_there_in_50_ms_or_soon_after_a_bare_one(opened, name):
    with opened(name) as page:  # who is slow is slow each time, a machine only now and then
        assert any(in_time(*frame_times(page)) for _ in range(3))


# ---------------------------------------------------------------------------- the piece of HTML


DECLARED = re.compile(
    r"^(?:async )?(?:const|let|var|class|function\*?) +([\w$]+|[\[{].*?[\]}])", re.M
)


def declared_twice(script: str) -> list[str]:
    """Names that a script declares at its outermost level more than once: it would not run."""
    names = [name for found in DECLARED.findall(script) for name in re.findall(r"[\w$]+", found)]
    return sorted({name for name in names if names.count(name) > 1})


def script_of(name: str) -> str:
    """The script that stands in the HTML of a figure."""
    return BeautifulSoup(figure(name).html(), "html.parser").select("script")[-1].string


class TestScripts:
    @EACH_KIND
    def test_a_name_is_declared_once(self, name):
        script = script_of(name)
        assert "const live" in script
        assert not declared_twice(script)

    @pytest.mark.parametrize(
        "again",
        ["function clamp() {", "const clamp = 1;", "let [GLIDE] = [1];", "class Model {}"],
    )
    def test_a_name_of_the_runtime_is_found_in_a_figure(self, again):
        name = re.findall(r"clamp|GLIDE|Model", again)
        assert declared_twice(f"{script_of('clock_pair')}\n{again}") == name


class TestHtml:
    @EACH
    def test_it_is_one_element_that_needs_nothing_else(self, name):
        html = figure(name).html()
        soup = BeautifulSoup(html, "html.parser")
        assert [child.get("class") for child in soup.find_all(recursive=False)] == [["live"]]
        assert not re.search(r"https?:|\bsrc=|@import|\bimport\b.*\bfrom\b|^export", html, re.M)
        assert len(html) < 200_000

    def test_readers_get_html_and_git_one_line(self):
        assert repr(live.clocks()) == "live figure: clocks, p=4"
        assert live.clocks()._repr_html_().startswith('<div class="live"')

    def test_words_cannot_end_the_script(self, browser):
        html = live.clocks(["</script><b>", "&", "&"], dim=2, start=0).html()
        assert "</script><b>" not in html
        page = browser.new_page()
        page.set_content(html)
        assert page.locator(".words button").first.text_content() == "</script><b>"
        page.close()

    def test_two_of_a_kind_on_a_page_are_two(self, browser):
        page = browser.new_page()
        page.set_content(live.clocks(start=2).html() + live.clocks(start=9).html())
        found = page.locator(".live").evaluate_all("els => els.map((e) => e.live.values().at)")
        assert found == ["2", "9"]
        page.close()

    def test_a_module_renders_where_a_host_brings_only_a_model(self, browser):
        """As anywidget does: an empty element, and a model that holds html, data and state."""
        page, shape = browser.new_page(), live.clocks()
        html = shape.html()
        inside = str(BeautifulSoup(html, "html.parser").select_one(".live").decode_contents())
        script = BeautifulSoup(html, "html.parser").select("script")[-1].text
        page.set_content('<div class="live" id="host"></div>')
        given = {"html": inside, "data": shape.data, "state": {"p": 6}}
        page.evaluate(script.replace('start("clocks", figure)', "window.figure = figure"))
        at = page.evaluate(
            """(given) => {
              const model = { get: (k) => given[k], set() {}, on() {}, save_changes() {} };
              figure.render({ model, el: document.getElementById("host") });
              return document.getElementById("host").live.values().at;
            }""",
            given,
        )
        assert at == "6"
        page.close()


# ---------------------------------------------------------------------------- planted faults


STYLE = "document.head.insertAdjacentHTML('beforeend', '<style>{}</style>')"
FAULTS = {
    "Math.cos = ((cos) => (x) => cos(x) * 1.00001)(Math.cos)": (
        lambda page: number_problems(page, "clock_pair"),
        "cos",
    ),
    "document.querySelector('.hand').style.setProperty('--turn', 1)": (
        lambda page: first_state_problems(page, "clock_pair"),
        "became",
    ),
    "document.querySelector('.said').textContent = 'something else'": (
        lambda page: first_state_problems(page, "clock_pair"),
        "became",
    ),
    "document.querySelectorAll('.hit').forEach((e) => (e.style.pointerEvents = 'none'))": (
        drag_problems,
        "hand.0'] does not follow",
    ),
    "document.addEventListener('lostpointercapture', (e) => e.stopPropagation(), true)": (
        drag_problems,
        "after it was let go",
    ),
    STYLE.format(".live [data-drag] { touch-action: auto !important }"): (
        touch_problems,
        "scrolls the page",
    ),
    "document.addEventListener('keydown', (e) => e.stopPropagation(), true)": (
        keyboard_problems,
        "leads from",
    ),
    "document.querySelector('[role=status]').remove()": (keyboard_problems, "was said"),
    STYLE.format(".live .period { font-size: 9px !important }"): (letter_problems, "9 pixels"),
    STYLE.format(".live .marks { min-width: 900px }"): (letter_problems, ": from "),
    STYLE.format(".live .controls { display: flex !important }"): (paper_problems, "shows"),
    STYLE.format(".live svg { display: none !important }"): (paper_problems, "does not show"),
    "document.querySelector('[name=p]').parentElement.replaceWith("
    "document.querySelector('[name=p]'))": (accessibility_problems, "label"),
}


@pytest.mark.every
class TestTheTestsCanFail:
    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_planted_fault_is_found(self, opened, fault):
        check, complaint = FAULTS[fault]
        touch = {"has_touch": True, "is_mobile": True} if check is touch_problems else {}
        with opened("clock_pair", width=390 if touch else 820, **touch) as page:
            page.evaluate(fault)
            if check is paper_problems:
                page.emulate_media(media="print")
            assert complaint in "; ".join(check(page))

    def test_a_request_and_an_error_are_found(self, opened):
        with opened("clocks") as page:
            with page.expect_event("pageerror"):
                page.evaluate(
                    "fetch('nothing.json').catch(() => {}); setTimeout(() => { throw Error('y') })"
                )
            assert any(p.startswith("asks for") for p in page.problems)
            assert any(p.startswith("error") for p in page.problems)

    @pytest.mark.alone
    def test_a_slow_figure_is_found(self, opened):
        with opened("clocks") as page:
            page.evaluate(
                """() => document.querySelector(".live").live.model.on("change:state", () => {
                  const end = performance.now() + 60;
                  while (performance.now() < end);
                })"""
            )
            assert not in_time(*frame_times(page))
