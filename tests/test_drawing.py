"""Drawings: the figure's numbers in the page's colours, light and dark, for screen and phone."""

import base64
import io
import itertools
import re

import matplotlib as mpl
import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from PIL import Image

mpl.use("agg")

import matplotlib.pyplot as plt
from matplotlib.text import Text

from posenc.show import (
    name_lines,
    plot_attention,
    plot_clock_hands,
    plot_curves,
    plot_matrix,
    plot_turns,
)
from posenc.show.colours import (
    CYCLE,
    DARK_SIGNED,
    DARK_WEIGHTS,
    PALETTE,
    WEIGHTS,
    looks,
    method_colour,
    variables,
)
from posenc.show.drawing import (
    _CONES,
    _OKLAB,
    CHART,
    COLUMN,
    PHONE,
    draw_both,
    in_the_dark,
    to_html,
    to_svg,
)

SIGNED = torch.linspace(-1, 1, 20).view(4, 5)


@pytest.fixture(autouse=True)
def style():
    with plt.style.context("posenc.show.book"):
        yield


def curves():
    x = torch.arange(5.0)
    return plot_curves(x, {"a": x, "b": x**2}, xlabel="distance", ylabel="score").figure


def pixels(href):
    picture = Image.open(io.BytesIO(base64.b64decode(href.partition(",")[2])))
    return np.asarray(picture.convert("RGBA"))


def height(text):
    """Of the baseline of a text that is not turned, from the top, in units of its picture."""
    if "y" in text.attrs:
        return float(text["y"])
    return float(re.search(r"translate\([-\d.]+ ([-\d.]+)\)", text["transform"])[1])


def heat_maps(figure):
    """The embedded pictures of a matrix, without those of its colour bar."""
    soup = BeautifulSoup(to_svg(figure), "html.parser")
    return {
        tuple(image.get("class", ())): pixels(image["href"])
        for image in soup.select("image")
        if pixels(image["href"]).shape[:2] == (4, 5)
    }


def without_names(figure):
    """A drawing that is laid out to the end, without the names that clips have by their corners."""
    for _ in range(4):
        figure.draw_without_rendering()
    return re.sub(r"\bp[0-9a-f]{10}\b", "", to_svg(figure))


# What is left of linear light for an eye without a kind of cone (Machado et al. 2009, severity 1).
EYES = {
    "all": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
}  # fmt: skip


def linear(colour):
    c = np.asarray(colour, dtype=float)
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def oklab(light):
    return _OKLAB @ np.cbrt(_CONES @ np.clip(light, 0, 1))


def contrast(one, other):
    def luminance(colour):
        return linear(colour) @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class TestColours:
    PAPER = np.array([0x15, 0x17, 0x1C]) / 255  # of the dark page

    def test_white_becomes_nearly_the_dark_paper_and_black_its_ink(self):
        assert contrast(in_the_dark(np.ones(3)), self.PAPER) < 1.15
        assert contrast(in_the_dark(np.zeros(3)), self.PAPER) > 12

    def test_lines_of_the_style_are_seen_on_dark_paper(self):
        for colour in mpl.rcParams["axes.prop_cycle"].by_key()["color"]:
            dark = in_the_dark(np.array(mpl.colors.to_rgb(colour)))
            assert contrast(dark, self.PAPER) > 3, colour

    def test_the_palette_is_read_on_both_papers_and_is_that_of_the_style(self):
        rgb = mpl.colors.to_rgb
        for name, (light, dark) in PALETTE.items():
            assert contrast(rgb(light), rgb("#fefdfb")) > 4.5, name
            assert contrast(rgb(dark), self.PAPER) > 4.5, name
        cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
        assert cycle == [PALETTE[name][0] for name in CYCLE]
        assert mpl.rcParams["image.cmap"] == "posenc.weights"

    def test_methods_are_told_apart_by_all_eyes_on_both_papers(self):
        known = ["none", "sinusoidal", "learned", "shaw", "transformer-xl", "t5", "rope", "alibi"]
        pairs = [PALETTE[name] for name, _ in looks(known)]
        for eye, least in (("all", 0.1), ("no red", 0.045), ("no green", 0.045)):
            for paper in zip(*pairs, strict=True):
                seen = [oklab(EYES[eye] @ linear(mpl.colors.to_rgb(colour))) for colour in paper]
                for i, j in itertools.combinations(range(len(known)), 2):
                    assert np.linalg.norm(seen[i] - seen[j]) > least, (eye, known[i], known[j])

    def test_a_method_has_its_colour_and_the_second_of_a_colour_is_dashed(self):
        known = ["none", "sinusoidal", "learned", "shaw", "transformer-xl", "t5", "rope", "alibi"]
        assert len({name for name, _ in looks(known)}) == len(known)
        assert not any(dashed for _, dashed in looks(known))
        assert not {"amber", "teal"} & {name for name, _ in looks(known)}  # a query's and a key's
        told = ["none", "RoPE, judged at 32", "wanted", "rotary", "a goal"]
        assert looks(told) == [
            ("grey", False), ("ink", False), ("amber", False), ("ink", True), ("teal", False),
        ]  # fmt: skip
        lines = plot_curves(
            torch.arange(2), {name: torch.ones(2) for name in told}, xlabel="", ylabel=""
        ).lines
        assert [line.get_linestyle() for line in lines] == ["-", "-", "-", "--", "-"]
        assert lines[3].get_color() == method_colour("RoPE") == "#1d2733"

    def test_a_stretching_has_one_colour_and_name_in_every_figure(self):
        told = ["unscaled", "linear", "ntk", "by parts, 1 to 4", "by parts, 1 to 32", "yarn"]
        assert looks(told) == [
            ("grey", False), ("violet", False), ("blue", False), ("ink", False), ("ink", True),
            ("magenta", False),
        ]  # fmt: skip
        assert looks(["dynamic ntk", "by parts"]) == [("blue", False), ("ink", False)]
        ax = plot_curves(torch.arange(2), {"ntk": torch.ones(2)}, xlabel="", ylabel="")
        assert ax.lines[0].get_label() == "NTK"

    def test_red_stays_red_and_blue_blue(self):
        red, blue = in_the_dark(np.array([[0.7, 0.1, 0.1], [0.1, 0.3, 0.8]]))
        assert red.argmax() == 0
        assert blue.argmax() == 2
        assert red.max() > 0.8 > 0.4 > red.min()

    def test_greys_turn_round(self):
        greys = in_the_dark(np.linspace(0, 1, 9)[:, None].repeat(3, 1))
        assert (np.diff(greys, axis=0) < 0).all()

    def test_grey_letters_and_rims_are_seen_in_the_dark_as_in_the_light(self):
        figure, ax = plt.subplots()
        ax.text(0, 0, "word", color="0.45")
        ax.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.7"))
        dark = dict(re.findall(r"light-dark\((#\w{6}), (#\w{6})\)", to_svg(figure)))
        assert contrast(mpl.colors.to_rgb(dark["#737373"]), self.PAPER) > 4.5
        assert contrast(mpl.colors.to_rgb(dark["#b2b2b2"]), self.PAPER) > 2

    def test_a_line_has_one_colour_for_each_page(self):
        svg = to_svg(curves())
        assert re.search(r"stroke: light-dark\(#1d2733, #e6e9ed\)", svg)
        assert "stroke: light-dark(#c8cacd, #47494e)" in svg  # axes
        assert "fill: light-dark(#4f5760, #b8bbbf)" in svg  # their numbers and names
        assert not re.search(r'"[^"]*(?:fill|stroke): #', svg)


class TestPictures:
    PAPERS = np.array([[0xFE, 0xFD, 0xFB], [0x15, 0x17, 0x1C]]) / 255

    def test_a_pixel_is_a_number_with_the_colour_of_its_map(self):
        ax = plot_matrix(SIGNED, xlabel="x", ylabel="y", signed=True, limit=1)
        found = heat_maps(ax.figure)
        wanted = mpl.colormaps["posenc.signed"]((SIGNED.numpy() + 1) / 2, bytes=True)
        assert np.abs(found["day",].astype(int) - wanted).max() <= 1
        dark = DARK_SIGNED((SIGNED.numpy() + 1) / 2, bytes=True).astype(int)
        assert np.abs(found["night",] - dark).max() <= 4  # a step of the ramp
        assert found["night",][0, 0].sum() > found["night",][1, 4].sum()  # the middle is dark

    def test_signed_numbers_have_the_colours_of_live_figures_in_both_themes(self):
        themes = variables().splitlines()
        for ramp, theme in zip(("posenc.signed", DARK_SIGNED), themes, strict=True):
            signs = mpl.colormaps.get_cmap(ramp)([0.0, 0.5, 1.0])
            names = [re.search(rf"--{n}: (#\w+)", theme)[1] for n in ("minus", "zero", "plus")]
            apart = np.abs(signs - mpl.colors.to_rgba_array(names)).max(axis=1)
            assert (apart < [1e-6, 0.005, 1e-6]).all()  # a ramp of 256 steps has no middle

    def test_weights_have_the_colours_of_live_figures_in_both_themes(self):
        for ramp, theme in zip((WEIGHTS, DARK_WEIGHTS), variables().splitlines(), strict=True):
            stops = [re.search(rf"--weight-{i}: (#\w+)", theme)[1] for i in range(5)]
            assert (
                np.abs(ramp([0, 0.25, 0.5, 0.75, 1.0]) - mpl.colors.to_rgba_array(stops)).max()
                < 0.01
            )

    def test_red_is_told_from_amber_in_the_dark(self):  # bars stand beside hands
        for eye, least in (("all", 0.19), ("no red", 0.19), ("no green", 0.14)):
            red, amber = (
                oklab(EYES[eye] @ linear(mpl.colors.to_rgb(PALETTE[name][1])))
                for name in ("red", "amber")
            )
            assert np.linalg.norm(red - amber) > least, eye

    def test_weights_begin_at_the_paper_and_lead_away_from_it_on_both_pages(self):
        for ramp, paper in zip((WEIGHTS, DARK_WEIGHTS), self.PAPERS, strict=True):
            colours = ramp(np.linspace(0, 1, 64))[:, :3]
            away = [contrast(colour, paper) for colour in colours]
            assert away[0] < 1.2
            assert (np.diff(away) > 0).all()
            assert away[-1] > 6
        found = heat_maps(plot_attention(torch.rand(4, 5)).figure)
        assert set(found) == {("day",), ("night",)}

    def test_weights_have_their_own_ramp_in_the_dark_and_it_stays_amber(self):
        weights = torch.linspace(0, 1, 20).view(4, 5)
        weights[0, 3:] = torch.nan  # nothing is there
        found = heat_maps(plot_attention(weights).figure)
        wanted = DARK_WEIGHTS(weights.numpy(), bytes=True).astype(int)
        there = weights.isfinite().numpy()
        assert np.abs(found["night",].astype(int) - wanted)[there].max() <= 4  # a step of the ramp
        assert (found["night",][~there][:, 3] == 0).all()
        _, a, b = oklab(linear(DARK_WEIGHTS(np.linspace(0.2, 0.9, 15))[:, :3]).T)
        hue = np.degrees(np.arctan2(b, a))
        assert np.ptp(hue) < 30  # no olive, no salmon

    @pytest.mark.parametrize("top", [1, 0.6])
    def test_weights_by_their_root_tell_small_ones_apart_and_their_bar_tells_weights(self, top):
        weights = torch.linspace(0, 0.57, 20).view(4, 5)
        ax = plot_attention(weights, root=True)
        ax.images[0].set_clim(0, top)
        found = heat_maps(ax.figure)
        wanted = WEIGHTS((weights / top).sqrt().numpy(), bytes=True).astype(int)
        assert np.abs(found["day",].astype(int) - wanted).max() <= 4  # a step of the ramp
        assert contrast(*found["day",][0, [0, 2], :3] / 255) > 1.3  # 0 and 0.06
        bar = ax.figure.axes[1]
        assert bar.get_ylabel().startswith("weight")
        for at, text in zip(bar.get_yticks(), bar.get_yticklabels(), strict=True):
            if at <= top:
                assert float(text.get_text()) == pytest.approx(at)
                high = bar.transAxes.inverted().transform(bar.transData.transform((0, at)))[1]
                assert high == pytest.approx((at / top) ** 0.5, abs=1e-3)
        assert {text.get_text() for text in bar.get_yticklabels()} >= {"0.05", "0.1", "0.2"}


class TestBoth:
    def test_letters_of_the_small_one_are_as_large_where_it_is_shown(self):
        wide, phone = (BeautifulSoup(svg, "html.parser").svg for svg in draw_both(curves()))
        width = [float(svg["viewbox"].split()[2]) for svg in (wide, phone)]
        assert width == pytest.approx([72 * COLUMN, 72 * CHART], rel=0.02)
        sizes = re.findall(r"font-size: (\d+)px", str(phone))
        assert sizes
        assert all(float(size) * 330 / width[1] >= 12.5 for size in sizes)

    def test_a_chart_with_words_in_it_is_drawn_wider_so_that_they_do_not_touch(self):
        figure = curves()
        figure.axes[0].text(1, 1, "a word")
        phone = BeautifulSoup(draw_both(figure)[1], "html.parser").svg
        width = float(phone["viewbox"].split()[2])
        assert width == pytest.approx(72 * PHONE, rel=0.02)
        sizes = re.findall(r"font-size: (\d+)px", str(phone))
        assert sizes
        assert all(float(size) * 330 / width >= 11 for size in sizes)

    def test_what_an_upright_axis_shows_is_said_above_it_and_above_a_title(self):
        figure, axes = plt.subplots(1, 2)
        for ax in axes:
            ax.set_ylabel("score", color="0.35")
        axes[1].set_title("a title")
        before = without_names(figure)
        for svg in draw_both(figure):
            texts = BeautifulSoup(svg, "html.parser").select("text")
            names = [text for text in texts if text.text == "score"]
            assert len(names) == 2
            assert not any("rotate(-90" in name.get("transform", "") for name in names)
            assert all("#595959" in name["style"] for name in names)
            title = next(text for text in texts if text.text == "a title")
            assert height(names[1]) < height(title) - 10
        assert without_names(figure) == before

    @pytest.mark.parametrize(("name", "turned"), [("n" * 12, False), ("n" * 13, True)])
    @pytest.mark.parametrize("kind", ["matrix", "circle"])
    def test_a_short_name_beside_a_plot_is_not_turned(self, kind, name, turned):
        figure, ax = plt.subplots(figsize=(4, 3))
        if kind == "matrix":
            plot_matrix(torch.rand(4, 5), xlabel="key", ylabel="", ax=ax).set_title("a title")
        else:
            plot_clock_hands(torch.tensor([1.0]), axes=[ax])
        ax.set_ylabel(name)
        before = without_names(figure)
        for svg in draw_both(figure):
            found = [t for t in BeautifulSoup(svg, "html.parser").select("text") if t.text == name]
            assert ["rotate(-90" in text.get("transform", "") for text in found] == [turned]
        assert without_names(figure) == before

    @pytest.mark.parametrize(("title", "turned"), [("a title", False), ("a long title " * 5, True)])
    def test_what_colours_show_is_said_above_their_bars_if_all_have_room(self, title, turned):
        figure, axes = plt.subplots(2, figsize=(4.2, 5))
        for ax, told in zip(axes, ("a title", title), strict=True):
            plot_matrix(torch.rand(4, 5), xlabel="key", ylabel="", label="weight", ax=ax)
            ax.set_title(told)
        before = without_names(figure)
        for svg in draw_both(figure):
            texts = BeautifulSoup(svg, "html.parser").select("text")
            bars = [text for text in texts if text.text == "weight"]
            assert ["rotate(-90" in bar.get("transform", "") for bar in bars] == [turned] * 2
            if not turned:  # all or none
                titles = [text for text in texts if text.text == title]
                assert [*map(height, bars)] == [*map(height, titles)]
        assert without_names(figure) == before

    @pytest.mark.parametrize("by", [90, 60])
    @pytest.mark.parametrize(("word", "turned"), [("cat", False), ("crocodile", True)])
    def test_words_below_a_matrix_are_turned_only_if_they_would_touch(self, word, turned, by):
        figure, ax = plt.subplots(figsize=(5.4, 4))
        plot_matrix(torch.rand(10, 10), xlabel="key", ylabel="query", ax=ax)
        ax.set_xticks(range(10), [word] * 10, rotation=by)
        before = without_names(figure)
        screen = BeautifulSoup(draw_both(figure)[0], "html.parser")
        words = [text for text in screen.select("text") if text.text == word]
        assert {f"rotate(-{by}" in text.get("transform", "") for text in words} == {turned}
        assert len(words) == 10
        assert without_names(figure) == before

    def test_the_figure_is_as_before(self):
        figure = curves()
        before = figure.get_size_inches().tolist()
        draw_both(figure)
        assert figure.get_size_inches().tolist() == before

    def test_plots_in_a_row_stand_two_by_two_on_a_phone_and_then_as_before(self):
        figure, axes = plt.subplots(1, 4, figsize=(7, 2), sharey=True)
        for n, ax in enumerate(axes):
            ax.plot([0, n], label=f"line {n}")
            ax.set_xlabel(f"plot {n}")
        axes[1].legend(fontsize=8)
        figure.legend(*axes[0].get_legend_handles_labels(), ncols=1, loc="outside upper center")
        before = to_svg(figure)
        screen, phone = (BeautifulSoup(svg, "html.parser").svg for svg in draw_both(figure))
        assert to_svg(figure) == before

        def heights(svg):
            labels = [text for text in svg.select("text") if text.text.startswith("plot")]
            return len({float(label["y"]) for label in labels}), len(labels)

        assert heights(screen) == (1, 4)
        assert heights(phone) == (2, 4)

    def test_square_matrices_are_square_on_a_phone_and_small_letters_large_enough(self):
        figure, axes = plt.subplots(1, 2, figsize=(7, 3))
        for ax in axes:
            plot_matrix(torch.rand(12, 12), xlabel="key", ylabel="query", ax=ax)
            ax.set_xticks(range(12), "abcdefghijkl", fontsize=7)
        before = without_names(figure)
        phone = BeautifulSoup(draw_both(figure)[1], "html.parser").svg
        pictures = [image for image in phone.select("image") if image.get("height") == "12"]
        sides = [re.findall(r"[\d.]+", image["transform"])[:4:3] for image in pictures]
        assert len(sides) == 4  # two, by day and by night
        for wide, high in sides:  # of a cell
            assert float(wide) == pytest.approx(float(high), rel=0.02)
            assert float(wide) > PHONE * 72 / 12 / 2
        assert min(map(float, re.findall(r"font-size: (\d+)px", str(phone)))) >= 10
        assert without_names(figure) == before

    def test_four_matrices_of_many_words_stand_one_below_the_other_on_a_phone(self):
        figure, axes = plt.subplots(2, 2, figsize=(7, 6.6), sharex=True, sharey=True)
        for n, ax in enumerate(axes.flat):
            ax.imshow(torch.rand(12, 12).numpy())
            ax.set_title(f"plot {n}")
            ax.set_xticks(range(12), [f"word{n}" for n in range(12)], rotation=90)
        before = without_names(figure)
        phone = BeautifulSoup(draw_both(figure)[1], "html.parser").svg
        titles = [text["y"] for text in phone.select("text") if text.text.startswith("plot")]
        assert len(set(titles)) == 4
        assert len([text for text in phone.select("text") if text.text == "word3"]) == 4
        assert without_names(figure) == before

    def test_a_third_matrix_stands_in_the_middle_below_two_and_is_as_large(self):
        figure, axes = plt.subplots(1, 3, figsize=(7.4, 2.9))
        for ax in axes:
            ax.imshow(torch.rand(6, 6).numpy())
        before = without_names(figure)
        phone = BeautifulSoup(draw_both(figure)[1], "html.parser").svg
        pictures = [image for image in phone.select("image") if image.get("height") == "6"][::2]
        places = [[*map(float, re.findall(r"[\d.]+", one["transform"]))] for one in pictures]
        sides, left, top = ([place[i] for place in places] for i in (0, 4, 5))
        assert left[2] == pytest.approx((left[0] + left[1]) / 2, abs=5)
        assert top[0] == pytest.approx(top[1], abs=1)
        assert top[2] > top[0] + 6 * sides[0]
        assert max(sides) < 1.03 * min(sides)
        assert without_names(figure) == before

    def test_a_heat_map_has_a_frame_and_is_square_on_a_screen(self):
        figure, axes = plt.subplots(1, 3, figsize=(7.4, 2.9))
        for ax in axes:
            plot_matrix(torch.rand(6, 6), xlabel="key", ylabel="query", ax=ax)
        before = without_names(figure)
        screen = BeautifulSoup(draw_both(figure)[0], "html.parser").svg
        frames = [path for path in screen.select("path") if "#999999" in path.get("style", "")]
        assert len(frames) == 12
        pictures = [image for image in screen.select("image") if image.get("height") == "6"]
        for image in pictures:
            wide, high = re.findall(r"[\d.]+", image["transform"])[:4:3]
            assert float(wide) == pytest.approx(float(high), rel=0.03)
        assert without_names(figure) == before

    def test_what_a_stack_on_a_phone_has_in_common_is_said_once(self):
        figure, axes = plt.subplots(1, 2, figsize=(7, 2.2), sharey=True)
        for ax in axes:
            ax.plot([0, 1])
            ax.set_xlabel("distance")
        before = to_svg(figure)
        screen, phone = (BeautifulSoup(svg, "html.parser").svg for svg in draw_both(figure))
        said = [[t for t in svg.select("text") if t.text == "distance"] for svg in (screen, phone)]
        assert list(map(len, said)) == [2, 1]
        assert to_svg(figure) == before

    def test_the_colours_of_a_stack_are_told_beside_its_first(self):
        figure, axes = plt.subplots(1, 3, figsize=(7.6, 2.9), sharey=True)
        for ax in axes:
            image = ax.imshow(torch.rand(12, 12).numpy(), vmin=0, vmax=1)
            ax.set_xticks(range(12), [f"word{n}" for n in range(12)], rotation=90)
        figure.colorbar(image, ax=axes, label="weight")
        before = without_names(figure)
        phone = BeautifulSoup(draw_both(figure)[1], "html.parser").svg
        high = float(phone["viewbox"].split()[3])
        bar = [t for t in phone.select("text") if t.text in ("0.0", "1.0")][-2:]
        assert float(bar[0]["x"]) > 200  # of the bar, right of the maps
        assert all(float(t["y"]) < 0.4 * high for t in bar)
        assert without_names(figure) == before

    def test_plots_of_lines_two_by_two_stand_in_one_column_on_a_phone(self):
        figure, axes = plt.subplots(2, 2, figsize=(7, 4.6), sharex="col")
        for n, ax in enumerate(axes.flat):
            ax.plot([0, n])
            ax.set_title(f"plot {n}")
        before = to_svg(figure)
        phone = BeautifulSoup(draw_both(figure)[1], "html.parser").svg
        titles = {t.text: float(t["y"]) for t in phone.select("text") if t.text.startswith("plot")}
        assert sorted(titles, key=titles.get) == ["plot 0", "plot 2", "plot 1", "plot 3"]
        assert to_svg(figure) == before

    def test_a_name_longer_than_its_axis_is_broken_on_a_phone(self):
        figure, axes = plt.subplots(2, 2, figsize=(6.4, 6))
        for ax in axes.flat:
            plot_matrix(torch.rand(5, 5), xlabel="x " * 20, ylabel="why " * 20, ax=ax)
            ax.images[0].colorbar.remove()
        before = without_names(figure)
        screen, phone = (BeautifulSoup(svg, "html.parser").svg for svg in draw_both(figure))
        longest = [max(len(t.text) for t in svg.select("text")) for svg in (screen, phone)]
        assert longest[1] < longest[0] / 2
        assert without_names(figure) == before

    def test_clocks_on_a_phone_leave_no_empty_room(self):
        figure, axes = plt.subplots(1, 2, figsize=(6.4, 3))
        for ax in axes:
            ax.set(aspect="equal", xlim=(-1, 1), ylim=(-1, 1))
            ax.axis("off")
        before = to_svg(figure)
        phone = BeautifulSoup(draw_both(figure)[1], "html.parser").svg
        wide, high = map(float, phone["viewbox"].split()[2:])
        assert high < 0.6 * wide
        assert to_svg(figure) == before

    def test_clocks_with_names_at_their_left_keep_room_for_them(self):
        figure, axes = plt.subplots(2, 4, figsize=(6.4, 3.4))
        for ax in axes.flat:
            ax.set(aspect="equal", xlim=(-1, 1), ylim=(-1, 1), xticks=[], yticks=[])
        for n, ax in enumerate(axes[:, 0]):
            ax.set_ylabel(f"hundred a {n}")
        phone = BeautifulSoup(draw_both(figure)[1], "html.parser").svg
        assert float(phone["viewbox"].split()[3]) > 0.9 * 3.4 * 72

    def test_an_axis_has_few_numbers_on_a_phone(self):
        figure, ax = plt.subplots(figsize=(6.4, 4))
        ax.plot([0, 1], [0, 40])
        screen, phone = (BeautifulSoup(svg, "html.parser").svg for svg in draw_both(figure))
        up = [[t.text for t in svg.select("text") if "." not in t.text] for svg in (screen, phone)]
        assert up == [[str(n) for n in range(0, 41, 5)], ["0", "10", "20", "30", "40"]]

    def test_names_of_lines_stand_above_them_on_a_phone(self):
        figure, ax = plt.subplots()
        for name in "ab":
            ax.plot([0, 16], label=name)
        ax.legend()
        before = without_names(figure)
        phone = BeautifulSoup(draw_both(figure)[1], "html.parser").svg
        heights = {text.text: float(text["y"]) for text in phone.select("text[y]")}
        assert heights["a"] < heights["b"] < heights["16"]
        assert without_names(figure) == before

    def test_a_line_is_named_at_its_end_in_its_colour_and_names_do_not_touch(self):
        x = torch.arange(9.0)
        curves = {"low": x, "close": x + 0.1, "leaves": 9 * x, "short name of two lines": x + 0.2}
        ax = plot_curves(x, curves, xlabel="", ylabel="")
        ax.set_ylim(-1, 10)
        name_lines(ax)
        ax.figure.draw_without_rendering()
        assert [text.get_color() for text in ax.texts] == [line.get_color() for line in ax.lines]
        boxes = [Text.get_window_extent(text) for text in ax.texts]  # without the thin lines
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
        assert ax.texts[2].xy[0] == 1  # the last place at which the line is seen
        assert not ax.get_legend()

    def test_a_name_that_had_to_give_way_is_tied_to_its_line(self):
        x = torch.arange(9.0)
        near = plot_curves(x, {"a": x, "b": x + 0.1, "c": 0 * x}, xlabel="", ylabel="")
        for line, name in zip(near.lines, near.texts, strict=True):
            share = near.transAxes.inverted().transform(near.transData.transform(line.get_xydata()))
            assert name.arrow_patch
            assert name.xy[1] == pytest.approx(share[-1, 1])
        apart = plot_curves(x, {"a": x, "c": 0 * x}, xlabel="", ylabel="")
        assert not any(name.arrow_patch for name in apart.texts)

    @pytest.mark.parametrize("scale", ["log", "linear"])
    def test_numbers_at_an_axis_are_plain_text_with_thousands_apart(self, scale):
        ax = plt.subplots()[1]
        ax.plot([1, 10_000], [-4000, 0.5])
        ax.set(xscale=scale)
        ax.set_xticks([10, 2000, 10_000], [10, 2000, 10_000])  # numbers as names
        before = ax.xaxis.get_major_formatter(), ax.yaxis.get_minor_formatter()
        for drawing in draw_both(ax.figure):
            soup = BeautifulSoup(drawing, "html.parser")
            told = {text.get_text().strip() for text in soup.select("text")}
            assert {"2,000", "10,000", "\N{MINUS SIGN}4,000"} <= told
            assert not soup.select("tspan")
        assert before == (ax.xaxis.get_major_formatter(), ax.yaxis.get_minor_formatter())

    @pytest.mark.parametrize(
        ("text", "letters"),
        [
            ("a = 0.9", "a"),
            ("E(p)", "Ep"),
            ("+ E(p)", "Ep"),
            ("\N{MINUS SIGN}m(N\N{MINUS SIGN}1\N{MINUS SIGN}j)", "mNj"),
            ("2 · ln(1 + n)", "n"),
            ("n / 256", "n"),
            ("a", ""),
            ("loss (nats a character)", ""),
            ("channel at p + k", ""),
            ("1/2", ""),
        ],
    )
    def test_letters_of_a_formula_are_in_italics(self, text, letters):
        ax = plt.subplots()[1]
        ax.set_axis_off()
        ax.text(0.5, 0.5, text)
        drawn = BeautifulSoup(to_svg(ax.figure), "html.parser").find("text")
        assert drawn.text == text
        assert "".join(part.text for part in drawn.select("tspan[style*=italic]")) == letters

    def test_coordinates_are_rounded_and_texts_are_not(self):
        ax = plt.subplots()[1]
        ax.text(0.123456, 0.5, "0.0012")
        svg = to_svg(ax.figure)
        assert ">0.0012<" in svg
        assert not re.search(r"<[^>]*\d\.\d{3}", svg)

    def test_turned_points_are_named_where_they_end_and_together_if_that_is_one_place(self):
        after = torch.tensor([[1.0, 0.0], [1.0, 0.02], [0.0, 1.0]])
        ax = plot_turns(torch.ones(3, 2), after, labels=["0", "1", "2"])
        assert [(text.get_text(), text.xy) for text in ax.texts] == [
            ("0, 1", (1.0, 0.0)), ("2", (0.0, 1.0)),
        ]  # fmt: skip
        assert not ax.get_legend()

    def test_words_of_the_sentence_have_the_letters_of_the_live_one(self):
        ax = plt.subplots()[1]
        ax.text(0, 0, "cat", family="serif")
        ax.text(0, 0, "dog")
        soup = BeautifulSoup(to_svg(ax.figure), "html.parser")
        styles = {text.string: text["style"] for text in soup.select("text")}
        assert "font-family: var(--book-serif, serif)" in styles["cat"]
        assert "font-family" not in styles["dog"]

    def test_twelve_words_of_the_sentence_have_room_on_a_phone(self):
        ax = plt.subplots()[1]
        ax.text(0, 0, "cat", family="serif", fontsize=12)
        sizes = [
            re.search(r"font-size: (\d+)px[^>]*>cat<", drawn)[1] for drawn in draw_both(ax.figure)
        ]
        assert sizes == ["12", "10"]
        assert ax.texts[0].get_fontsize() == 12

    def test_points_say_once_what_they_look_like(self):
        ax = plt.subplots()[1]
        ax.plot(range(50), "o", color="C1")
        group = BeautifulSoup(to_svg(ax.figure), "html.parser").select("use")[-1].parent
        points = group.select("use")
        assert len(points) == 50
        assert not any(point.has_attr("style") for point in points)
        assert "fill: light-dark(#b45309" in group["style"]

    def test_no_name_is_that_of_another_drawing(self):
        x = torch.arange(5.0)
        other = plot_curves(x, {"a": x}, xlabel="position", ylabel="loss").figure
        points = plt.subplots()[1].plot(range(50), "o")[0].figure
        html = to_html(curves()) + to_html(other) + to_html(points)
        soup = BeautifulSoup(html, "html.parser")
        names = [tag["id"] for tag in soup.select("[id]")]
        assert len(names) == len(set(names)) > 6  # what clips each, and the shape of a point
        called = re.findall(r'(?:href="|url\()#([^")]+)', html)
        assert set(called) == set(names)

    def test_nothing_is_asked_of_others(self):
        html = to_html(curves())
        assert not re.search(r"https?:|@import|<style|<metadata|DejaVu", html)
