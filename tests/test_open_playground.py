import sys
import webbrowser
from pathlib import Path

import pytest

import amclust
from amclust._playground import open_playground

ROOT = Path(__file__).parent.parent


@pytest.fixture
def opened(monkeypatch):
    """Addresses that were given to the web browser."""
    addresses = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


def test_opens_the_page_of_the_package(opened):
    path = open_playground()
    assert path.is_absolute()
    assert path.is_relative_to(Path(amclust.__file__).parent.resolve())
    assert opened == [path.as_uri()]


def test_opens_no_browser_unasked(opened):
    assert open_playground(show=False).is_file()
    assert opened == []


def test_writes_a_copy_and_opens_that(opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy = open_playground("my page.html")
    assert copy == tmp_path.resolve() / "my page.html"
    assert copy.read_bytes() == open_playground(show=False).read_bytes()
    assert opened == [copy.as_uri()]
    assert "my%20page" in opened[0]


def test_replaces_an_older_copy(tmp_path):
    copy = tmp_path / "page.html"
    copy.write_text("old")
    open_playground(copy, show=False)
    assert "<title>amclust playground" in copy.read_text(encoding="utf-8")


def test_a_folder_that_is_not_there_is_named(tmp_path, opened):
    with pytest.raises(OSError, match="nowhere"):
        open_playground(tmp_path / "nowhere" / "page.html")
    assert opened == []


def test_the_page_is_one_file_that_loads_nothing():
    page = open_playground(show=False).read_text(encoding="utf-8")
    for loader in ("<script src", '<link rel="stylesheet"', "@import", "url(", "fetch(", "import("):
        assert loader not in page


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links are not checked out there")
def test_the_documentation_carries_the_same_page():
    page = ROOT / "docs" / "playground.html"
    assert page.read_bytes() == open_playground(show=False).read_bytes()
