"""The options of an evaluation from values of any kind, each checked and of its type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.options.groups import EvaluationOptions

try:
    from pydantic import TypeAdapter, ValidationError
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing

_OPTIONS = TypeAdapter(EvaluationOptions)


def options_of(given: Mapping[str, Any]) -> EvaluationOptions:
    """Return the options of the command `evaluate`, each of its type.

    Args:
        given: values by the names of the options; `env` and `header` may be one text or several.

    Raises:
        UserError: for a value of another type, with the option's name.
    """
    values = dict(given)
    for name in ("env", "header"):
        if name in values:
            several = values[name]
            values[name] = (several,) if isinstance(several, str) else tuple(several)
    try:
        return _OPTIONS.validate_python(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        raise UserError(f"{name}: {first['msg']}, got {first['input']!r}") from None
