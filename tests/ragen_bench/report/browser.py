"""Finds the Chromium that the report is looked at with: `python browser.py` fails if there is none.

It is $CHROMIUM, one on the PATH, or the one of `playwright install chromium`.
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def find(playwright):
    """Return the path of a Chromium, or None."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    installed = next(filter(None, map(shutil.which, NAMES)), None)
    own = playwright.chromium.executable_path
    return installed or (own if Path(own).is_file() else None)


if __name__ == "__main__":
    with sync_playwright() as found:
        sys.exit(find(found) is None)
