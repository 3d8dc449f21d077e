"""Keeps off the console what verl and its imports print for nobody to act on: it is logged."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import warnings
from collections.abc import Iterator

LOG = logging.getLogger("ragen_starpo.engine")
_LEVEL = "VERL_LOGGING_LEVEL"
_CHATTY = {"transformers": logging.ERROR, "torch.fx._symbolic_trace": logging.ERROR}


@contextlib.contextmanager
def prints_logged() -> Iterator[None]:
    """Log what is printed inside: a line that begins with WARN as a warning, others for debugging.

    verl prints sizes, memory and schedules while it builds a model, and in the same way that a step
    was left out since its gradient was not finite.
    """
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield
    finally:
        for line in printed.getvalue().splitlines():
            LOG.log(logging.WARNING if line.startswith("WARN:") else logging.DEBUG, "%s", line)


@contextlib.contextmanager
def libraries_quiet() -> Iterator[None]:
    """Hold back advice and bars of transformers and torch inside; errors are raised as ever."""
    from transformers.utils import logging as bars

    before = {name: logging.getLogger(name).level for name in _CHATTY}
    had_bars = bars.is_progress_bar_enabled()
    for name, level in _CHATTY.items():
        logging.getLogger(name).setLevel(level)
    bars.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            # verl reads values through a view, and never writes to it.
            warnings.filterwarnings("ignore", message=".*returned a view tensor")
            # Nor does the schedule ask whether the first step was left out for its gradient.
            warnings.filterwarnings("ignore", message="Detected call of `lr_scheduler.step")
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
        if had_bars:
            bars.enable_progress_bar()  # type: ignore[no-untyped-call]


def import_quietly(module: str) -> None:
    """Import a module of verl, which warns of engines that are not installed and sets up logging.

    Its warnings are logged for debugging; the root logger is left as it was. Loggers of verl take
    their level on import, from a variable that is WARNING here unless the user has set it.
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
        LOG.debug("%s", warning.message)
