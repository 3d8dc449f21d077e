"""Mypy plugin: refuse the built-in `sum` of floats.

From Python 3.12 on it compensates for rounding, so the same floats give another result than on
3.11. Use `ragen_envs.core.sums.sum_in_order`. Mypy reports such a call as a `sum` whose items are
floats where it expected bools, since `sum` is overloaded and no overload is left.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.plugin import FunctionContext, Plugin
from mypy.types import Instance, Type, UnionType, get_proper_type

_MESSAGE = "the built-in sum of floats depends on Python's version; use sum_in_order"


def _is_float(type_: Type) -> bool:
    proper = get_proper_type(type_)
    if isinstance(proper, UnionType):
        return any(_is_float(item) for item in proper.items)
    return isinstance(proper, Instance) and proper.type.fullname == "builtins.float"


def _check_sum(context: FunctionContext) -> Type:
    if _is_float(context.default_return_type):
        context.api.fail(_MESSAGE, context.context)
    return context.default_return_type


class FloatSums(Plugin):
    """Checks every call of the built-in `sum` in the packages."""

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        """Return the check of `sum`, None for other functions."""
        return _check_sum if fullname == "builtins.sum" else None


def plugin(_version: str) -> type[FloatSums]:
    """Return the plugin, as mypy asks for it."""
    return FloatSums
