"""The report in a real browser; ``browser_page`` fails a test whose page is not silent."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from amclust import ClAM
from amclust.report import write_report

EVIL = '<a href="https://example.org">x</a><img src=x onerror=fail()>'


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report on 60 rows with missing values, long names and names that look like HTML."""
    X = pd.DataFrame(make_blobs(60, 5, centers=3, random_state=0)[0])
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.05)
    X.columns = [EVIL, "a_name_that_is_quite_long_" * 3, "b" * 80, "c", "d"]
    model = ClAM(3, n_init=2, random_state=0).fit(X)
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(model, X, path, ids=[f"{i} {EVIL}" for i in range(60)], title="A test")


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def colours_of_rows(page):
    return page.evaluate(
        "[...document.querySelectorAll('#projection .points path')].map(p => p.style.fill)"
    )


def overflow(page):
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


# A page takes a second to open, so that a test looks at several things.


def test_figures_are_drawn_tell_of_rows_and_follow_the_theme(open_file, report):
    page = open_file(report)
    assert page.title() == "A test"
    for figure in ("projection", "basins", "knives", "entropy"):
        assert page.locator(f"#{figure} .main-svg").count() > 0, figure
    assert page.locator("#projection .points path").count() == 60 + 3
    assert page.locator("#basins .heatmaplayer image").count() == 1
    assert overflow(page) == 0
    check_pointing_at_a_row(page)
    check_button(page)


def check_pointing_at_a_row(page):
    page.locator("#projection").scroll_into_view_if_needed()
    # The memories lie over the rows: point at the row that is farthest to the right.
    at = page.evaluate(
        """() => {
          const rows = document.querySelector('#projection .trace').querySelectorAll('.point');
          const boxes = [...rows].map((p) => p.getBoundingClientRect());
          const row = boxes.reduce((best, box, i) => (box.x > boxes[best].x ? i : best), 0);
          const { x, y, width, height } = boxes[row];
          return { row, x: x + width / 2, y: y + height / 2 };
        }"""
    )
    page.mouse.move(at["x"], at["y"])
    text = page.locator("#projection .hoverlayer").text_content()
    # Names from the table are shown as they are, and are no links.
    assert f"row {at['row']} <a href=" in text
    assert re.search(r"cluster \d", text)
    assert re.search(r"energy −?[\d.]+, entropy [\d.]", text)
    assert page.locator("#projection a").count() == 0


def check_button(page):
    before = background(page), set(colours_of_rows(page))
    button = page.get_by_role("button", name="Switch to the dark page")
    button.focus()
    page.keyboard.press("Enter")
    after = background(page), set(colours_of_rows(page))
    assert before[0] != after[0]
    assert before[1] != after[1]
    paper = page.evaluate("document.querySelector('#knives .main-svg').style.background")
    assert paper == after[0]
    page.get_by_role("button", name="Switch to the light page").click()
    assert (background(page), set(colours_of_rows(page))) == before


@pytest.mark.parametrize(
    "browser_page",
    [{"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}],
    indirect=True,
)
def test_a_phone_shows_everything_without_scrolling_sideways(open_file, report):
    page = open_file(report)
    assert page.evaluate("window.innerWidth") == 360
    assert overflow(page) == 0
    page.locator("details").last.locator("summary").click()
    assert overflow(page) == 0
    # The restarts fit, with the badge of the chosen one on one line.
    table = page.locator("#restarts .table")
    assert table.evaluate("table => table.scrollWidth - table.clientWidth") == 0
    badge = page.locator(".chosen")
    assert badge.evaluate("b => b.offsetHeight < 2 * parseFloat(getComputedStyle(b).fontSize)")
    right_edges = page.evaluate(
        """[...document.querySelectorAll('.plot .main-svg')].map(
          (svg) => svg.getBoundingClientRect().right)"""
    )
    assert max(right_edges) <= 360


def test_many_clusters_are_numbered_too(open_file, tmp_path):
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    X = np.repeat(grid, 4, axis=0) + np.random.default_rng(0).normal(0, 0.05, (100, 2))
    model = ClAM(25, init=grid, n_init=1, random_state=0).fit(X)
    page = open_file(write_report(model, X, tmp_path / "report.html"))
    numbers = [str(m) for m in range(25)]
    assert page.locator("#projection .textpoint").all_text_contents() == numbers
    assert page.locator("#basins .textpoint").all_text_contents() == numbers
    assert page.locator("#knives .annotation").all_text_contents() == numbers


@pytest.mark.parametrize("browser_page", [{"color_scheme": "dark"}], indirect=True)
def test_a_dark_page_prints_light_with_figures_that_fit(open_file, report, tmp_path):
    page = open_file(report)
    assert background(page) == "rgb(22, 22, 21)"
    page.evaluate(
        """() => window.addEventListener('beforeprint', () => {
          window.printed = [...document.querySelectorAll('.plot .main-svg')].map((svg) =>
            [svg.getBoundingClientRect().width, svg.style.background]);
          window.closed = document.querySelectorAll('details:not([open])').length;
        })"""
    )
    path = tmp_path / "report.pdf"
    page.pdf(path=path, format="A4")
    assert path.read_bytes().startswith(b"%PDF-")
    printed = page.evaluate("window.printed")
    assert printed
    assert max(width for width, _ in printed) <= 661
    assert {colour for _, colour in printed if colour} == {"rgb(255, 255, 255)"}
    assert page.evaluate("window.closed") == 0
    # Afterwards the screen is as it was, and goes on following the system.
    assert background(page) == "rgb(22, 22, 21)"
    assert page.locator("details:not([open])").count() > 0
    page.emulate_media(color_scheme="light")
    # Not wait_for_function: when it asks again, the page's policy forbids it to evaluate a text.
    page.locator("html[data-theme=light]").wait_for(state="attached")
    assert background(page) == "rgb(255, 254, 251)"
