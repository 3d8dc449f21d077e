"""Takes a picture of a report for the README: its head, its results and one trajectory.

    PYTHONPATH=. python scripts/report_picture.py runs/RUN/report.html docs/report.png

Run it from the root of the repository: it starts Chromium as the tests do.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.ragen_bench.pages.browser import launched

SOLVED = "ragen/Sokoban-v0/14/0/1"
"""A level that the demo's agent solves, in its first turn of two."""
HIDDEN = (
    "section:not([aria-labelledby='results-title']):not(#trajectories), header dl, section > .note"
)
"""Sections hidden to keep the picture short."""
HIDE = """selector => {
  for (const element of document.querySelectorAll(selector)) element.hidden = true;
  document.activeElement.blur();
  scrollTo(0, 0);
}"""


def take(report: Path, picture: Path, address: str) -> None:
    """Write a picture of a report.

    Args:
        report: The run's page.
        picture: The PNG file.
        address: The open turn, as ENV/INSTANCE/SAMPLE/TURN.
    """
    with launched() as chromium:
        page = chromium.new_page(viewport={"width": 1200, "height": 480})
        page.goto(f"{report.resolve().as_uri()}#{address}")
        page.locator("#trajectories .board").first.wait_for()
        page.evaluate(HIDE, HIDDEN)
        end = page.locator("#trajectories").bounding_box()
        size = {"width": 1200, "height": end["y"] + end["height"]}
        page.screenshot(path=picture, full_page=True, clip={"x": 0, "y": 0, **size})


def main() -> None:
    """Take the picture that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="a run's report.html")
    parser.add_argument("picture", type=Path, help="the PNG file to write")
    parser.add_argument("--turn", default=SOLVED, help="ENV/INSTANCE/SAMPLE/TURN")
    options = parser.parse_args()
    take(options.report, options.picture, options.turn)


if __name__ == "__main__":
    main()
