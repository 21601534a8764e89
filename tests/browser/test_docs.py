"""The built documentation in a browser: `make docs` comes before."""

import re
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
DARK_PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


@pytest.fixture
def site(missing):
    """The folder that `make docs` wrote."""
    if not (SITE / "index.html").is_file():
        missing("the documentation is not built (make docs)")
    return SITE


@pytest.fixture
def open_page(site, open_file):
    """A function that opens a page of the site by its path."""
    return lambda path="index.html": open_file(site / path)


def shown_picture(page):
    """Give the name of the home page's picture that is shown."""
    visible = page.locator("figure.picture img:visible")
    assert visible.count() == 1
    assert visible.evaluate("image => image.complete && image.naturalWidth > 0")
    return visible.get_attribute("src")


@pytest.mark.parametrize("browser_page", [{}, DARK_PHONE], indirect=True)
def test_the_home_page_shows_a_picture_and_three_doors(open_page):
    page = open_page()
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert ("home-dark" if dark else "home-light") in shown_picture(page)
    doors = page.locator(".doors a").evaluate_all("links => links.map(link => link.href)")
    assert [Path(door).name for door in doors] == ["tour.html", "index.html", "api.html"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    links = page.locator("main a[href]").evaluate_all("links => links.map(link => link.href)")
    local = {link.split("#")[0].removeprefix("file://") for link in links if link[:5] == "file:"}
    assert len(local) > 8
    assert not [path for path in local if not Path(path).is_file()]
    page.locator(".doors .sd-card").first.click()
    assert page.title().startswith("Ten-minute tour")


def test_the_theme_switch_changes_the_picture(open_page):
    page = open_page()
    before = shown_picture(page)
    page.locator(".theme-switch-button:visible").click()
    page.locator("[data-mode=dark].theme-change-button:visible").click()
    assert shown_picture(page) != before


def test_the_bar_leads_to_every_part(open_page):
    page = open_page()
    for part in ("tour", "guide", "gallery", "api", "benchmarks"):
        page.locator(f".bd-header a[href*='{part}']:visible").first.click()
        page.wait_for_url(f"**/{part}**")
        assert page.locator("main h1").inner_text()
        broken = page.evaluate(
            "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
        )
        assert broken == []


def test_the_playground_works_from_here(open_page):
    page = open_page()
    page.locator("main a[href='playground.html']").first.click()
    page.locator(".memory").first.wait_for()
    assert page.locator(".memory").count() == 5


def test_formulas_are_drawn_by_the_browser(open_page):
    page = open_page("guide/how_it_works.html")
    formula = page.locator(".formula math").first
    assert formula.bounding_box()["height"] > 20
    assert page.locator("math").count() > 3


def test_search_finds_a_page_without_a_server(open_page):
    page = open_page("search.html")
    page.goto(page.url + "?q=voronoi")
    page.wait_for_selector('#search-results li a[href*="how_it_works"]')
    assert page.locator('#search-results li a[href*="deep"]').count() == 0


def test_no_page_loads_anything_from_elsewhere(site):
    loaded = re.compile(
        r"<(?:script|img|iframe|source)[^>]+src=\"(?:https?:)?//|"
        r"<link[^>]+rel=\"(?:stylesheet|preload|icon)\"[^>]+href=\"(?:https?:)?//"
    )
    pages = [page for page in site.rglob("*.html") if page.name != "playground.html"]
    assert len(pages) > 30
    assert not [str(page) for page in pages if loaded.search(page.read_text(encoding="utf-8"))]
