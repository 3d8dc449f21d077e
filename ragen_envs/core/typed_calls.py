"""Functions with several typed arguments: their schemas, and the text of a call.

    move event=E3 day=Friday time=10:00

is the text of a call of `move`. The arguments may stand in any order, and each is there once. A
value holds no "=", which begins the next one. Reading is linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_SIGN = "="


class Parameter(NamedTuple):
    """An argument of a function: one of some choices, a number, or a text.

    Attributes:
        name: an identifier.
        about: what it is, in a sentence.
        choices: the values that it may have; none for a number or a text.
        most: the greatest number, if it is one; the least is 1.
        pattern: what a text looks like, in the signs of `FreeText.form`.
    """

    name: str
    about: str
    choices: tuple[str, ...] = ()
    most: int = 0
    pattern: str = "[a-zA-Z0-9]{1,40}"

    @property
    def form(self) -> str:
        """What its values look like, in the signs of `FreeText.form`; some numbers are left out."""
        if self.choices:
            return f"({'|'.join(map(_spelled, self.choices))})"
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
    """A kind of actions with typed arguments, as a model calls it.

    Attributes:
        name: of the function, an identifier.
        about: what it does, in a sentence.
        parameters: its arguments, all of which are needed.
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
        """What the texts of its calls look like, in the signs of `FreeText.form`."""
        return _spelled(self.name) + "".join(
            f"{_spelled(f' {parameter.name}{_SIGN}')}{parameter.form}"
            for parameter in self.parameters
        )


def written(function: TypedFunction, arguments: Mapping[str, object]) -> str:
    """Return the text of a call.

    Args:
        function: what is called.
        arguments: by the names of its parameters; others are left out.
    """
    values = [f"{p.name}{_SIGN}{arguments[p.name]}" for p in function.parameters]
    return " ".join([function.name, *values])


def read(function: TypedFunction, text: str) -> dict[str, str] | None:
    """Return the arguments in the text of a call, as they are spelled; None if it is no such call.

    Args:
        function: what may be called; its name and those of its parameters may have capitals.
        text: any str.
    """
    name, _, rest = text.strip().partition(" ")
    if name.lower() != function.name:
        return None
    names = {parameter.name for parameter in function.parameters}
    arguments = _split(rest)
    return arguments if arguments is not None and arguments.keys() == names else None


def typed(function: TypedFunction, arguments: Mapping[str, str]) -> dict[str, str | int]:
    """Return the arguments of a call as the types that their schemas name.

    Raises:
        ValueError: for a number that is none.
    """
    return {
        p.name: int(arguments[p.name]) if p.most else arguments[p.name] for p in function.parameters
    }


def fault(function: TypedFunction, arguments: Mapping[str, object]) -> str | None:
    """Return why no text can be a call with these arguments, or None.

    Whether a value is one of the choices is for the game to say.
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
    """Return what the texts of calls look like, in the signs of `FreeText.form`."""
    return "|".join(function.form for function in functions)


def _spelled(text: str) -> str:
    """Return a text as classes of one character each."""
    return "".join(f"[{character}]" for character in text)


def _split(text: str) -> dict[str, str] | None:
    """Return the values by their names in small letters; None if one is missing or there twice."""
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
