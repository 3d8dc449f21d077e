"""`--json`: what a command found as one document, on standard output or in a file."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from ragen_bench.options.looks import Option

SCHEMA: Final = 1
"""The version of the documents; it rises when a field is renamed or means something else."""
_STDOUT = Path("-")


@dataclass(frozen=True, kw_only=True)
class JsonOptions:
    """Where the findings go as JSON."""

    json: Annotated[
        Path | None,
        Option("[FILE]", "print JSON alone, notes on stderr; or write it: X.json or --json=FILE"),
    ] = None

    @property
    def printed(self) -> bool:
        """Whether standard output is the document and nothing else."""
        return self.json == _STDOUT

    @contextmanager
    def output(self) -> Iterator[dict[str, Any]]:
        """Print or write what the block puts into a dictionary, once it ends without an error.

        Where it is printed, all else that is printed meanwhile goes to standard error, that of
        libraries in C too.
        """
        content: dict[str, Any] = {}
        if not self.printed:
            yield content
            if self.json:
                self.json.write_text(_document(content), encoding="utf-8", newline="\n")
                sys.stdout.write(f"JSON  {self.json}\n")
            return
        sys.stdout.flush()
        own = os.dup(1)
        os.dup2(2, 1)
        try:
            with redirect_stdout(sys.stderr):
                yield content
        finally:
            os.dup2(own, 1)
            os.close(own)
        sys.stdout.write(_document(content))


def _document(content: Mapping[str, Any]) -> str:
    return json.dumps(_finite({"schema": SCHEMA, **content}), indent=2, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """Return a value with None for the numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value
