"""explore: every frame is in the page, every control moves the widget, and mistakes are named."""

import json
import re

import matplotlib as mpl
import pytest
from bs4 import BeautifulSoup

mpl.use("agg")

import matplotlib.pyplot as plt

from posenc.show import explore

pytestmark = pytest.mark.usefixtures("annotations_off")


def draw(height, title):
    figure, ax = plt.subplots(figsize=(2, 1))
    ax.bar([0], [height])
    ax.set_ylim(0, 10)
    ax.set_title(title)
    return figure


def describe(height, title):
    return f"a bar of {height}, called {title} <&>"


def bars(**kwargs):
    controls = {"height": [1, 5, 9], "title": ["one", "two"]}
    given = {"describe": describe, **controls, **kwargs}
    return explore(given.pop("draw", draw), **given)


def page(monkeypatch, **kwargs):
    monkeypatch.setenv("POSENC_BOOK", "1")
    return bars(**kwargs)._repr_mimebundle_()["text/html"]


def data(html):
    return json.loads(re.search(r'application/json">(.*?)</script>', html, re.DOTALL)[1])["data"]


def drawn(found, frame):
    """The two drawings of a frame, put together from the lines that all frames share."""
    return tuple("\n".join(found["lines"][i] for i in parts) for parts in found["frames"][frame])


def test_the_page_holds_every_frame_in_the_order_of_the_controls(monkeypatch):
    found = data(page(monkeypatch))
    assert found["words"] == [["1", "5", "9"], ["one", "two"]]
    combinations = [(h, t) for h in (1, 5, 9) for t in ("one", "two")]
    assert found["texts"] == [describe(h, t) for h, t in combinations]
    explorer = bars()
    for frame, (height, title) in enumerate(combinations):
        assert drawn(found, frame) == explorer.frame({"height": height, "title": title})
    assert len({drawn(found, frame) for frame in range(6)}) == 6


def test_lines_that_frames_have_in_common_are_stored_once(monkeypatch):
    found = data(page(monkeypatch))
    lines = sum(len(text.split("\n")) for frame in range(6) for text in drawn(found, frame))
    assert len(set(found["lines"])) == len(found["lines"]) < lines / 4


def test_the_first_state_stands_in_the_html(monkeypatch):
    html = page(monkeypatch, start={"height": 9, "title": "two"})
    soup = BeautifulSoup(html, "html.parser")
    assert soup.select_one(".said").text == describe(9, "two")
    assert "two" in [text.text for text in soup.select(".drawing .wide text")]
    assert soup.select_one("[name=height]")["value"] == "2"
    assert soup.select_one("output").text == "9"


def test_the_page_needs_nothing_from_elsewhere(monkeypatch):
    html = page(monkeypatch)
    assert not re.search(r"https?:|src=|@import|require\(", html)


def test_each_kind_of_value_has_its_own_control(monkeypatch):
    def three(**values):
        return draw(values["height"], values["title"])

    html = page(
        monkeypatch,
        draw=three,
        describe=lambda **values: str(values),
        labels={"height": "height <m>"},
        start={"height": 9, "title": "two", "grid": True},
        grid=[True, False],
    )
    soup = BeautifulSoup(html, "html.parser")
    height, title, grid = soup.select(".controls label")
    bar = height.select_one("input[type=range]")
    assert (bar["min"], bar["max"], bar["value"], bar["data-step"]) == ("0", "2", "2", "1")
    options = [(o["value"], o.text, o.has_attr("selected")) for o in title.select("option")]
    assert options == [("0", "one", False), ("1", "two", True)]
    assert grid.select_one("input[type=checkbox]").has_attr("checked")
    assert height.select_one("span").text == "height <m>"
    assert data(html)["words"][2] == ["off", "on"]  # a box that is not ticked comes first


def test_text_cannot_end_the_script(monkeypatch):
    html = page(monkeypatch, describe=lambda height, title: "</script><b>")
    assert data(html)["texts"][0] == "</script><b>"
    assert html.count("</script>") == 2


def test_the_widget_follows_its_sliders(monkeypatch):
    monkeypatch.delenv("POSENC_BOOK", raising=False)
    explorer = bars(labels={"height": "height (m)"}, start={"title": "two"})
    bundle = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == "explore(draw): height in 3 values, title in 2 values"
    picture, height, title, text = explorer._shown.children
    assert (height.description, title.value) == ("height (m)", "two")
    before = picture.value
    height.value = 9
    assert picture.value != before
    for drawing in explorer.frame({"height": 9, "title": "two"}):
        assert drawing in picture.value
    assert text.value == "a bar of 9, called two &lt;&amp;&gt;"


def test_truth_values_and_floats_are_said_in_words(monkeypatch):
    found = data(
        page(monkeypatch, height=[0.5, 1e6, 3.0], title=[False, True], describe=lambda **_: "")
    )
    assert found["words"] == [["0.5", "1e+06", "3"], ["off", "on"]]


def test_no_figure_is_left_open(monkeypatch):
    before = plt.get_fignums()
    page(monkeypatch)
    assert plt.get_fignums() == before


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"height": []}, r"height must have at least one value, got \[\]"),
        ({"height": range(61)}, "at most 120 combinations, got 122"),
        ({"labels": {"hight": "m"}}, "must name controls, got 'hight'"),
        ({"start": {"height": 2}}, "start of height must be one of its values, got 2"),
    ],
)
def test_mistakes_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        bars(**wrong)


def test_at_least_one_control_is_needed():
    with pytest.raises(ValueError, match="controls must not be empty"):
        explore(plt.figure, describe=str)


def test_a_draw_that_returns_no_figure_is_named():
    with pytest.raises(TypeError, match="must return a matplotlib figure, got Axes"):
        bars(draw=lambda height, title: draw(height, title).axes[0]).live()
