"""Redirection of output from verl and its imports, which users cannot act on, to logging."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import warnings
from collections.abc import Iterator

from ragen_bench.visible import visible

LOG = logging.getLogger("ragen_starpo.engine")
_LEVEL = "VERL_LOGGING_LEVEL"
_CHATTY = {"transformers": logging.ERROR, "torch.fx._symbolic_trace": logging.ERROR}


@contextlib.contextmanager
def prints_logged() -> Iterator[None]:
    """Log printed lines: those that begin with WARN as warnings, others for debugging.

    verl prints sizes, memory and schedules while it builds a model, and also that it skipped a step
    whose gradient was not finite.
    """
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield
    finally:
        for line in printed.getvalue().splitlines():
            LOG.log(
                logging.WARNING if line.startswith("WARN:") else logging.DEBUG, "%s", visible(line)
            )


@contextlib.contextmanager
def libraries_quiet() -> Iterator[None]:
    """Silence log lines and progress bars of transformers and torch; errors are raised."""
    from transformers.utils import logging as bars

    before = {name: logging.getLogger(name).level for name in _CHATTY}
    had_bars = bars.is_progress_bar_enabled()
    for name, level in _CHATTY.items():
        logging.getLogger(name).setLevel(level)
    bars.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
        if had_bars:
            bars.enable_progress_bar()  # type: ignore[no-untyped-call]


def import_quietly(module: str) -> None:
    """Import a module of verl, which warns of engines that are not installed and sets up logging.

    Its warnings are logged for debugging, and the root logger is restored. Loggers of verl read
    their level on import from a variable, which is WARNING here unless the user has set it.
    """
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    level_before = os.environ.get(_LEVEL)
    os.environ.setdefault(_LEVEL, "WARNING")
    try:
        with warnings.catch_warnings(record=True) as caught, prints_logged():
            importlib.import_module(module)
    finally:
        if level_before is None:
            del os.environ[_LEVEL]
        root.handlers[:] = handlers
        root.setLevel(level)
    for warning in caught:
        LOG.debug("%s", visible(str(warning.message)))
