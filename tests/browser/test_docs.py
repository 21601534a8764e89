"""The documentation in a real browser, opened from the disk as `make docs` leaves it."""

import re
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"


@pytest.fixture
def home(open_file, missing):
    if not (SITE / "index.html").is_file():
        missing("the documentation is not built (make docs)")
    return open_file(SITE / "index.html")


def test_home_shows_its_picture(home):
    assert "amclust" in home.title()
    assert home.locator("h1").inner_text().strip("#") == "amclust"
    widths = home.evaluate(
        "[...document.images].filter((i) => i.checkVisibility()).map((i) => i.naturalWidth)"
    )
    assert widths
    assert all(widths)


def test_home_has_three_doors_and_no_dead_link(home):
    doors = home.locator(".doors a").evaluate_all("links => links.map((link) => link.href)")
    assert [Path(door).name for door in doors] == ["tour.html", "index.html", "api.html"]
    links = home.locator("main a[href]").evaluate_all("links => links.map((link) => link.href)")
    local = {link.split("#")[0].removeprefix("file://") for link in links if link[:5] == "file:"}
    assert len(local) > 8
    assert not [path for path in local if not Path(path).is_file()]


@pytest.mark.parametrize("browser_page", [{"color_scheme": "dark"}], indirect=True)
def test_theme_follows_the_system_and_can_be_chosen(home):
    def ground():
        return home.evaluate("getComputedStyle(document.body).backgroundColor")

    followed = ground()
    seen = {}
    for mode in ("light", "dark"):
        home.locator(".theme-switch-button:visible").click()
        home.locator(f".theme-change-button[data-mode={mode}]:visible").click()
        home.wait_for_function(f"document.documentElement.dataset.theme === '{mode}'")
        seen[mode] = ground()
        assert f"home-{mode}" in home.locator("figure img:visible").get_attribute("src")
    assert followed == seen["dark"] != seen["light"]


def test_the_bar_leads_to_every_part(home):
    for part in ("tour", "guide", "gallery", "api", "benchmarks"):
        home.locator(f".bd-header a[href*='{part}']:visible").first.click()
        home.wait_for_url(f"**/{part}**")
        assert home.locator("main h1").inner_text()
        broken = home.evaluate(
            "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
        )
        assert broken == []


def test_the_playground_works_from_here(home):
    home.locator("main a[href='playground.html']").first.click()
    home.locator(".memory").first.wait_for()
    assert home.locator(".memory").count() == 5


def test_search_works_without_a_server(home):
    home.goto((SITE / "search.html").as_uri() + "?q=silhouette")
    results = home.locator("#search-results li")
    results.first.wait_for()
    assert results.count() > 3
    results.first.locator("a").click()
    home.wait_for_url(lambda address: "search.html" not in address)
    assert "ilhouette" in home.locator("main").inner_text()


@pytest.mark.parametrize(
    "browser_page", [{"viewport": {"width": 360, "height": 720}, "is_mobile": True}], indirect=True
)
def test_home_fits_a_phone(home):
    assert home.evaluate("document.documentElement.scrollWidth") <= 360


def test_formulas_are_drawn_by_the_browser(home):
    home.goto((SITE / "guide" / "how_it_works.html").as_uri())
    assert home.locator(".formula math").first.bounding_box()["height"] > 20


def test_no_page_loads_anything_from_elsewhere(missing):
    pages = list(SITE.rglob("*.html"))
    if not pages:
        missing("the documentation is not built (make docs)")
    loaded = re.compile(
        r"""<(?:script|img|iframe|source)[^>]+src="(?:https?:)?//|"""
        r"""<link[^>]+rel="(?:stylesheet|preload|icon)"[^>]+href="(?:https?:)?//"""
    )
    assert not [page for page in pages if loaded.search(page.read_text(encoding="utf-8"))]
