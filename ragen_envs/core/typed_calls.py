"""Functions with several typed arguments: their schemas, and the text of a call.

    move event=E3 day=Friday time=10:00

is the text of a call of `move`. Each argument appears once, in any order. A value cannot contain
"=", which starts the next value. Parsing is linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_SIGN = "="


class Parameter(NamedTuple):
    """An argument of a function: one of some choices, a number, or a text.

    Attributes:
        name: Identifier.
        about: Description in a sentence.
        choices: Possible values; empty for a number or a text.
        most: Maximum of a number, whose minimum is 1; 0 if the value is not a number.
        pattern: Regular expression of a text, in the syntax of `FreeText.form`.
    """

    name: str
    about: str
    choices: tuple[str, ...] = ()
    most: int = 0
    pattern: str = "[a-zA-Z0-9]{1,40}"

    @property
    def form(self) -> str:
        """Regular expression of the values, as in `FreeText.form`; it omits some numbers."""
        if self.choices:
            return f"({'|'.join(map(_spell, self.choices))})"
        if self.most:
            digits = len(str(self.most + 1)) - 1  # as many nines are no more than the greatest
            return f"[1-9][0-9]{{0,{digits - 1}}}"
        return self.pattern

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its values."""
        if self.choices:
            return {"type": "string", "enum": [*self.choices], "description": self.about}
        if self.most:
            bounds = {"minimum": 1, "maximum": self.most}
            return {"type": "integer", **bounds, "description": self.about}
        return {"type": "string", "pattern": f"^{self.pattern}$", "description": self.about}


class TypedFunction(NamedTuple):
    """A function with typed arguments that a model may call for an action.

    Attributes:
        name: Identifier of the function.
        about: Description in a sentence.
        parameters: Parameters, all required.
    """

    name: str
    about: str
    parameters: tuple[Parameter, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return {
            "type": "object",
            "properties": {parameter.name: parameter.schema for parameter in self.parameters},
            "required": [parameter.name for parameter in self.parameters],
            "additionalProperties": False,
        }

    @property
    def form(self) -> str:
        """Regular expression of the texts of its calls, as in `FreeText.form`."""
        return _spell(self.name) + "".join(
            f"{_spell(f' {parameter.name}{_SIGN}')}{parameter.form}"
            for parameter in self.parameters
        )


def write_call(function: TypedFunction, arguments: Mapping[str, object]) -> str:
    """Return the text of a call.

    Args:
        function: Function.
        arguments: Values by the names of the parameters; other keys are ignored.
    """
    values = [f"{p.name}{_SIGN}{arguments[p.name]}" for p in function.parameters]
    return " ".join([function.name, *values])


def read_call(function: TypedFunction, text: str) -> dict[str, str] | None:
    """Return the arguments in the text of a call, unchanged; None if the text is not a call.

    Args:
        function: Function; case of its name and of its parameters' names does not matter.
        text: Any str.
    """
    name, _, rest = text.strip().partition(" ")
    if name.lower() != function.name:
        return None
    names = {parameter.name for parameter in function.parameters}
    arguments = _split(rest)
    return arguments if arguments is not None and arguments.keys() == names else None


def convert_arguments(
    function: TypedFunction, arguments: Mapping[str, str]
) -> dict[str, str | int]:
    """Convert the arguments of a call to the types of their schemas.

    Raises:
        ValueError: A number is malformed.
    """
    return {
        p.name: int(arguments[p.name]) if p.most else arguments[p.name] for p in function.parameters
    }


def fault(function: TypedFunction, arguments: Mapping[str, object]) -> str | None:
    """Return the error in the arguments of a call, or None.

    The game checks whether a value is one of the choices.
    """
    if set(arguments) != {parameter.name for parameter in function.parameters}:
        wanted = ", ".join(repr(parameter.name) for parameter in function.parameters)
        return f"the arguments of {function.name} are an object with {wanted or 'nothing'} alone"
    for parameter in function.parameters:
        value, kind = arguments[parameter.name], int if parameter.most else str
        if not isinstance(value, kind) or isinstance(value, bool):
            article = "an integer" if parameter.most else "a string"
            return f"{parameter.name} is {article}, got {type(value).__name__}"
        if isinstance(value, str) and _SIGN in value:
            return f"{parameter.name} holds {_SIGN!r}, which no value does"
        if isinstance(value, int) and not 1 <= value <= parameter.most:
            return f"{parameter.name} is between 1 and {parameter.most}"
    return None


def form_of(functions: Iterable[TypedFunction]) -> str:
    """Return the regular expression of the texts of calls, as in `FreeText.form`."""
    return "|".join(function.form for function in functions)


def _spell(text: str) -> str:
    """Return a text as character classes of one character each."""
    return "".join(f"[{character}]" for character in text)


def _split(text: str) -> dict[str, str] | None:
    """Return the values by lower-case names; None if one is missing or repeated."""
    if not text.strip():
        return {}
    head, *pieces = text.split(_SIGN)
    names, values = [head], []
    for piece in pieces[:-1]:
        value, _, name = piece.rstrip().rpartition(" ")
        names.append(name)
        values.append(value)
    values += pieces[-1:]
    found = {
        name.strip().lower(): value.strip() for name, value in zip(names, values, strict=False)
    }
    whole = len(found) == len(names) == len(values) and all(found.values())
    return found if whole else None
