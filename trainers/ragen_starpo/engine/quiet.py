"""Redirection of output from verl, which users cannot act on, to logging."""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Iterator

from ragen_bench.visible import visible

LOG = logging.getLogger("ragen_starpo.engine")
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
