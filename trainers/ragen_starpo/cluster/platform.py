"""The version of verl, and variables of the processes that it starts."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
from collections.abc import Iterator, Mapping

from ragen_bench.errors import UserError

SUPPORTED_VERL = "0.9.1"


def check_version() -> None:
    """Raise UserError if another version of verl than the supported one is installed."""
    installed = importlib.metadata.version("verl")
    if installed != SUPPORTED_VERL:
        raise UserError(
            f"verl {installed} is installed, and {SUPPORTED_VERL} is supported: pip install "
            f"verl=={SUPPORTED_VERL}"
        )


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, and at the end restore all, also those that a library changed."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)
