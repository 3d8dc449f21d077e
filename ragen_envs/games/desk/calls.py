"""The tools of the office, and the reader of their calls."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragen_envs.core.call_reader import CallReader
from ragen_envs.core.protocol import FreeText
from ragen_envs.core.tool_calls import Parameter, TypedFunction, form_of, read_call, write_call
from ragen_envs.games.desk.office import APPS, DAYS, FOLDERS, MOST_BOXES, TIMES

EXAMPLE = "CALL"
LONGEST_CALL = 200
"""Most characters of a call; the rest is ignored."""
_LONGEST_NAME, _LONGEST_ADDRESS = 40, 60
TOPICS = ("answer", "boxes", "day", "folder", "person", "thing", "time")
"""Topics of the user's questions."""

_NUMBER = "[1-9][0-9]{0,1}"
_NAME = "[a-zA-Z][a-zA-Z ]{0,23}"
_ID = Parameter("id", "An id, such as E3.", pattern=f"[CMEOF]{_NUMBER}")
_THING = _ID._replace(name="thing", about="The id of a mail, event, order, file or contact.")
_MAIL = Parameter("mail", "The id of a mail.", pattern=f"[M]{_NUMBER}")
_EVENT = Parameter("event", "The id of an event.", pattern=f"[E]{_NUMBER}")
_ORDER = Parameter("order", "The id of an order.", pattern=f"[O]{_NUMBER}")
_FILE = Parameter("file", "The id of a file.", pattern=f"[F]{_NUMBER}")
_DAY = Parameter("day", "A day of this week.", choices=DAYS)
_TIME = Parameter("time", "A full hour.", choices=TIMES)
_LIST = Parameter("app", "The application.", choices=APPS)
_TOPIC = Parameter("about", "What.", choices=TOPICS)
_ANSWER = Parameter("answer", "What to answer.", choices=("yes", "no"))
_BOXES = Parameter("boxes", "How many.", most=MOST_BOXES)
_FOLDER = Parameter("folder", "Where to.", choices=FOLDERS)
_TITLE = Parameter("title", "Its title.", pattern=_NAME)
_PERSON = Parameter("name", "First and last name.", pattern=_NAME)
_COMPANY = Parameter("company", "Where they work.", pattern=_NAME)
_ADDRESS = Parameter(
    "address", "A mail address.", pattern="[a-z0-9][a-z0-9.]{0,29}[@][a-z0-9][a-z0-9.]{0,27}"
)
_TO, _GUEST = _ADDRESS._replace(name="to"), _ADDRESS._replace(name="guest")

FUNCTIONS = (
    TypedFunction("list", "List what an application holds.", (_LIST,)),
    TypedFunction("read", "Read a mail or a file.", (_ID,)),
    TypedFunction("ask", "Ask the user about the request.", (_TOPIC,)),
    TypedFunction("send", "Send a mail with a thing of the office.", (_TO, _THING)),
    TypedFunction("reply", "Answer a mail.", (_MAIL, _ANSWER)),
    TypedFunction(
        "schedule", "Enter a new event into the calendar.", (_TITLE, _GUEST, _DAY, _TIME)
    ),
    TypedFunction("move", "Move an event.", (_EVENT, _DAY, _TIME)),
    TypedFunction("cancel", "Cancel an event or an order.", (_ID,)),
    TypedFunction("change_order", "Change how many boxes are ordered.", (_ORDER, _BOXES)),
    TypedFunction("move_file", "Move a file into a folder.", (_FILE, _FOLDER)),
    TypedFunction("enter", "Enter a thing of the office into a file.", (_FILE, _THING)),
    TypedFunction("add_contact", "Add a person to the contacts.", (_PERSON, _COMPANY, _ADDRESS)),
    TypedFunction("done", "Say that all is done, which ends the work."),
)
TOOLS = {function.name: function for function in FUNCTIONS}


class Call(NamedTuple):
    """A well-formed call: a tool's name, and the values of its parameters in order."""

    tool: str
    values: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        function = TOOLS[self.tool]
        names = (parameter.name for parameter in function.parameters)
        return write_call(function, dict(zip(names, self.values, strict=True)))


_ADDRESS_FORM = re.compile(r"[a-z0-9.-]+@[a-z0-9.-]+").fullmatch
_TEXT_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .&'-]*").fullmatch
_NUMBER_FORM = re.compile(r"[0-9]{1,4}").fullmatch
_ID_LETTERS = re.compile(r"\[([A-Z]+)\]").match


def _read_value(parameter: Parameter, value: str) -> str | None:
    """Return a value in its one spelling, None if it is invalid."""
    if parameter.choices:
        return {choice.lower(): choice for choice in parameter.choices}.get(value.lower())
    if parameter.most:
        is_valid = _NUMBER_FORM(value) and 1 <= int(value) <= parameter.most
        return str(int(value)) if is_valid else None
    if letters := _ID_LETTERS(parameter.pattern):
        return value.upper() if re.fullmatch(f"[{letters[1]}][1-9][0-9]?", value.upper()) else None
    if "@" in parameter.pattern:
        address = value.lower()
        return address if len(address) <= _LONGEST_ADDRESS and _ADDRESS_FORM(address) else None
    text = " ".join(value.lower().split())
    return text if len(text) <= _LONGEST_NAME and _TEXT_FORM(text) else None


@lru_cache(maxsize=8192)
def call_of(text: str) -> Call | None:
    """Return the call in a text in its one spelling; None if malformed. Ids are not checked."""
    function = TOOLS.get(text.strip().partition(" ")[0].lower())
    arguments = read_call(function, text) if function else None
    if function is None or arguments is None:
        return None
    values = [_read_value(p, arguments[p.name]) for p in function.parameters]
    known = [value for value in values if value is not None]
    return Call(function.name, tuple(known)) if len(known) == len(values) else None


def known_call(text: str) -> Call:
    """Return the call in a text; raise ValueError if it is malformed."""
    call = call_of(text)
    if call is None:
        raise ValueError(f"{text!r} is not a call of a tool")
    return call


class DeskReader(CallReader):
    """Reads any well-formed call of a tool."""

    free = FreeText("", "", LONGEST_CALL, form_of(FUNCTIONS))

    def __init__(self, listed: tuple[str, ...]) -> None:
        super().__init__(listed, EXAMPLE)

    def find_spelling(self, text: str) -> str | None:
        return _find_spelling(text)


@lru_cache(maxsize=8192)
def _find_spelling(text: str) -> str | None:
    call = call_of(text)
    return call and call.text
