"""The fixtures' own tests: what they have to notice, they do notice."""

from pathlib import Path

pytest_plugins = ["pytester"]

CASES = """
import pytest

@pytest.fixture
def open_body(open_file, tmp_path):
    def open_with(body):
        path = tmp_path / "page.html"
        path.write_text(f"<html><head><title>hello</title></head><body>{body}</body></html>")
        return open_file(path)
    return open_with

@pytest.mark.parametrize("browser_page", [{"color_scheme": "dark"}], indirect=True)
def test_silent(open_body):
    page = open_body("<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>")
    assert page.title() == "hello"
    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")

@pytest.mark.parametrize("body", [
    "<script>console.error('wrong')</script>",
    "<script>undefinedFunction()</script>",
    "<script>setTimeout(() => Promise.reject(new Error('later')), 10)</script>",
    "<script src='https://example.org/script.js'></script>",
    "<script>fetch('http://localhost:9/').catch(() => null)</script>",
])
def test_noisy(open_body, body):
    open_body(body)
"""


# The browser of this run serves there too: Playwright runs once in a process.
SHARED_BROWSER = """
@pytest.fixture(scope="session")
def browser(request):
    return request.config.shared_browser
"""


class Share:
    """A plugin that hands a browser to `SHARED_BROWSER`."""

    def __init__(self, browser):
        self.browser = browser

    def pytest_configure(self, config):
        config.shared_browser = self.browser


def run_cases(pytester, browser=None):
    conftest = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
    pytester.makeconftest(conftest + (SHARED_BROWSER if browser else ""))
    pytester.makepyfile(CASES)
    # Hypothesis would import all of itself for its summary.
    options = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-W", "error"]
    return pytester.runpytest_inprocess(*options, plugins=[Share(browser)])


def test_errors_and_requests_fail_a_test_and_silence_passes(browser, pytester):
    outcome = run_cases(pytester, browser)
    # The bodies of all tests pass; what the pages did is found afterwards.
    outcome.assert_outcomes(passed=6, errors=5)
    outcome.stdout.fnmatch_lines_random(
        [
            "*console error: wrong",
            "*page error: *undefinedFunction is not defined*",
            "*page error: *later*",
            "*request: https://example.org/script.js",
            "*request: http://localhost:9/",
        ]
    )


def test_without_a_browser_tests_are_skipped_and_say_why(pytester, monkeypatch):
    monkeypatch.setenv("PATH", str(pytester.path))
    monkeypatch.delenv("AMCLUST_REQUIRE_BROWSER", raising=False)
    outcome = run_cases(pytester)
    outcome.assert_outcomes(skipped=6)


def test_without_a_browser_tests_fail_where_one_is_required(pytester, monkeypatch):
    monkeypatch.setenv("PATH", str(pytester.path))
    monkeypatch.setenv("AMCLUST_REQUIRE_BROWSER", "1")
    outcome = run_cases(pytester)
    outcome.assert_outcomes(errors=6)
    outcome.stdout.fnmatch_lines(["*AMCLUST_REQUIRE_BROWSER is 1, but *"])
