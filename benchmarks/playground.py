"""Frame times of the playground while a memory is dragged: ``python -m benchmarks.playground``.

A real browser (chromium through Playwright) opens the page; a memory goes round in a circle, a
pointer event a frame. Printed are medians (and 95th percentiles) over the frames: of the labelling
of 200 × 200 cells, of all the page's work, and of the time from frame to frame, with their ratios
to the 16.7 ms of a frame at 60 frames a second. ``labelled`` is the share of frames whose cells
were all labelled within the frame; in the others a few at the borders were guessed.
"""

import shutil
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from amclust._playground import open_playground
from benchmarks.framework.pages import say

FRAME = 1000 / 60
BETAS = (0.001, 1, 3, 5, 7, 10, 30, 100, 1000)
SETTINGS = [(5, 10, beta) for beta in BETAS] + [(5, 20, beta) for beta in (3, 5, 10)] + [(8, 10, 5)]
MEMORIES = [(-0.62, 0.5), (0.1, 0.66), (0.55, 0.1), (-0.22, -0.48), (0.68, -0.62), (-0.7, -0.6)]
MEMORIES += [(0.7, 0.75), (0, 0.1)]

DRAG = Path(__file__).with_name("playground_drag.js")


def summary(times: list[float]) -> str:
    high = quantiles(times, n=20)[-1]
    return f"{median(times):5.1f} ({high:5.1f}) ms  ×{median(times) / FRAME:4.2f}"


def frames_of(page: Any, k: int, steps: int, beta: float) -> list[list[float]]:
    """Drag in a fresh page and return a row a frame."""
    memories = ";".join(f"{x},{y}" for x, y in MEMORIES[:k])
    page.goto("about:blank")
    page.goto(f"{open_playground(show=False).as_uri()}#m={memories}&b={beta}&t={steps}&p=0.1,0.1")
    page.wait_for_selector(".memory")
    return page.evaluate(DRAG.read_text(encoding="utf-8"), {"warm": 60, "frames": 150})


def main() -> int:
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        say(f"chromium {browser.version}; ratios to {FRAME:.1f} ms, the time of a frame at 60 Hz")
        titles = "  ".join(f"{title:<23}" for title in ("labelling", "page", "frame to frame"))
        say(f" k   T      β  {titles}  labelled")
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        for k, steps, beta in SETTINGS:
            *times, done = zip(*frames_of(page, k, steps, beta), strict=True)
            columns = "  ".join(summary(list(column)) for column in times)
            say(f"{k:>2} {steps:>3} {beta:>6g}  {columns}  {sum(done) / len(done):.0%}")
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
