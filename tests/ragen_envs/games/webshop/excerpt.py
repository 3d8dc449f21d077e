"""The excerpt of WebShop's public files, which lies beside the repository and never in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[5] / "shared" / "data" / "webshop"
needs_excerpt = pytest.mark.skipif(
    not (FOLDER / "documents_100.jsonl").is_file(),
    reason="the excerpt of WebShop's files is not in ../shared/data/webshop",
)


def records() -> list[dict]:
    with (FOLDER / "documents_100.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
