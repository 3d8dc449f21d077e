"""Renders chat templates within limits: the program that `templates` starts, with Jinja alone.

It reads a JSON request a line: a template, its variables, and the date that it may write. It
answers by the text, or the error, as a line of JSON. Its limits end it where a template would
take more, since no hook of Jinja sees all that a template can do.
"""

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from math import ceil

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import CallBlock
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

MEMORY = 1 << 30
"""Bytes of memory, for the interpreter, the conversation and the text."""
LONGEST = 1 << 25
"""Characters of a text."""


class _Generation(Extension):
    """The block `generation`, which marks the model's answers for training and shows its body."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> CallBlock:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        shown = CallBlock(self.call_method("_show"), [], [], body)
        shown.set_lineno(line)
        return shown

    def _show(self, caller: Callable[[], str]) -> str:
        return caller()


def _refuse(message: str) -> None:
    raise jinja2.TemplateError(message)


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


@lru_cache(8)
def _compile(template: str) -> jinja2.Template:
    """Return a template in the environment that transformers gives it."""
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    made.filters["tojson"] = _to_json
    made.globals["raise_exception"] = _refuse
    return made.from_string(template)


def _render(template: str, variables: dict[str, object], clock: str, day: str) -> dict[str, object]:
    try:
        form = datetime.fromisoformat(day).strftime
        text = _compile(template).render(**variables, **{clock: form})
    except (MemoryError, OverflowError, RecursionError) as error:
        return {"error": _describe(error), "limit": True}
    except jinja2.TemplateError as error:
        return {"error": str(error).partition("\n")[0]}
    except Exception as error:  # noqa: BLE001 (a template is a program, which may fail in any way)
        return {"error": _describe(error)}
    return (
        {"text": text} if len(text) <= LONGEST else {"error": "its text is too long", "limit": True}
    )


def _describe(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def main() -> None:
    """Answer requests until the input ends."""
    if resource is not None:
        # macOS refuses a limit below the addresses that each process has there, hundreds of GiB,
        # and a shell may have set a lower one.
        with suppress(ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        request = json.loads(line)
        seconds = request.pop("seconds")
        if resource is not None:
            used = resource.getrusage(resource.RUSAGE_SELF)
            # The limit is in whole seconds, so a part of one that was used is not of this request.
            end = ceil(used.ru_utime + used.ru_stime) + seconds
            most = resource.getrlimit(resource.RLIMIT_CPU)[1]
            end = end if most == resource.RLIM_INFINITY else min(end, most)
            resource.setrlimit(resource.RLIMIT_CPU, (end, most))
        answer = json.dumps(_render(**request))
        sys.stdout.buffer.write(answer.encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
