"""Tests that drive a real browser: Debian's chromium (or Chrome) through Playwright.

They are skipped where Playwright or a browser is missing, and fail there instead when the
environment variable AMCLUST_REQUIRE_BROWSER is 1, so that a set-up cannot lose them unnoticed.
"""

import os
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LOCAL = ("file:", "data:", "blob:", "about:")
# No sandbox: containers run as root. No background traffic, and /dev/shm may be tiny there.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def missing():
    """A function that skips a test for a reason, or fails it where nothing may be missing."""

    def skip_or_fail(reason):
        if os.environ.get("AMCLUST_REQUIRE_BROWSER") == "1":
            pytest.fail(f"AMCLUST_REQUIRE_BROWSER is 1, but {reason}", pytrace=False)
        pytest.skip(reason)

    return skip_or_fail


@pytest.fixture(scope="session")
def browser(missing):
    """One browser for all tests of a worker; every test gets a fresh context of it."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        missing(f"no browser was found on the PATH (looked for {', '.join(BROWSERS)})")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        missing("the Python package playwright is not installed")
    with sync_playwright() as playwright:
        # Signals stay with pytest: some tests of this suite send themselves Ctrl-C.
        browser = playwright.chromium.launch(
            executable_path=executable,
            args=ARGUMENTS,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
        yield browser
        browser.close()


@pytest.fixture
def browser_page(browser, request):
    """A page without a network that has to stay silent: a Playwright ``Page``.

    Fails the test afterwards where the page wrote an error or a warning to the console, raised an
    error, or asked for anything that is not local. Options of Playwright's ``new_context`` come by
    indirect parameters::

        @pytest.mark.parametrize("browser_page", [{"color_scheme": "dark"}], indirect=True)
    """
    options = {"viewport": {"width": 1280, "height": 800}, **getattr(request, "param", {})}
    context = browser.new_context(offline=True, **options)
    context.set_default_timeout(30_000)  # a machine may be busy
    faults = []

    def hear_console(message):
        if message.type in {"error", "warning"}:
            faults.append(f"console {message.type}: {message.text}")

    def hear_request(sent):
        if not sent.url.startswith(LOCAL):
            faults.append(f"request: {sent.url}")

    context.on("console", hear_console)
    context.on("weberror", lambda error: faults.append(f"page error: {error.error}"))
    context.on("request", hear_request)
    page = context.new_page()
    page.on("websocket", lambda socket: faults.append(f"websocket: {socket.url}"))
    yield page
    # What the page sent shortly before the end is still heard.
    page.wait_for_timeout(50)
    context.close()
    assert not faults, "the page was not silent:\n" + "\n".join(faults)


@pytest.fixture
def open_file(browser_page):
    """A function that opens a file in ``browser_page`` and returns the page."""

    def open_path(path, fragment=""):
        browser_page.goto(path.resolve().as_uri() + (f"#{fragment}" if fragment else ""))
        return browser_page

    return open_path
