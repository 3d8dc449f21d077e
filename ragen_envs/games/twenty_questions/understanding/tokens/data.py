"""The data files of the reader."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def data_text(name: str) -> str:
    """Return the text of one of the files in `tables`."""
    path = files("ragen_envs.games.twenty_questions.understanding").joinpath("tables", name)
    return path.read_text("utf-8")


def data_file(name: str) -> dict[str, Any]:
    """Return what one of the TOML files in `tables` holds."""
    return tomllib.loads(data_text(name))
