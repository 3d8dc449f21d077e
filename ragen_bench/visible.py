"""Text for terminals: the writers of `ragen_envs`, and durations."""

from __future__ import annotations

from ragen_envs.core.visible import visible, write_error, write_out

__all__ = ["format_duration", "visible", "write_error", "write_out"]


_UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))


def format_duration(seconds: float) -> str:
    """Return a duration with its unit, to two digits or more; it is never zero."""
    for size, unit in _UNITS:
        if seconds >= 1.5 * size:
            count = seconds / size
            return f"{count:.2g} {unit}" if count < 10 else f"{count:,.0f} {unit}"
    return "1 ms at most"
