"""Writes docs/reference/commands.md from the parsers of the three programs.

`python -m docs.build_commands` writes; a test fails if the page is not up to date.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from docs.build_games import DOCS
from ragen_bench.cli.main import parser as bench_parser
from ragen_envs.cli.main import parser as envs_parser
from ragen_starpo.cli.main import parser as train_parser

PAGE = DOCS / "reference" / "commands.md"
_HEAD = """\
# Commands and options

<!-- Written by docs/build_commands.py; change the help of the option in place of this page. -->

Every command of the three programs, as `--help` shows it. The exit code is 2 for a mistake in what
was typed, 1 for an incomplete run or a check that failed, and 130 after Ctrl-C.
"""


def build_page() -> str:
    """Return the text of the page."""
    parts = [_HEAD]
    for program in (bench_parser(), train_parser(), envs_parser()):
        parts.append(f"## {program.prog}\n")
        parts += _commands(program)
    return "\n".join(parts)


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the sections of a parser's commands."""
    for action in _actions(parser):
        if isinstance(action.choices, dict):
            for command in action.choices.values():
                is_group = any(isinstance(each.choices, dict) for each in _actions(command))
                yield from _commands(command) if is_group else [_section(command)]


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [each for each in parser._actions if each.dest != "help"]  # noqa: SLF001


def _section(command: argparse.ArgumentParser) -> str:
    shown = _actions(command)
    arguments = " ".join(_argument(each) for each in shown if not each.option_strings)
    options = " [options]" if any(each.option_strings for each in shown) else ""
    usage = f"`{' '.join(filter(None, (command.prog, arguments)))}{options}`"
    about = "\n".join(_plain(line) for line in (command.description or "").splitlines())
    head = ["| argument or option | meaning |", "| --- | --- |"] if shown else []
    table = "\n".join([*head, *_rows(command)])
    examples = [line.strip() for line in (command.epilog or "").splitlines()[1:]]
    block = "\n".join(["```", *examples, "```"]) if examples else ""
    parts = (f"### {command.prog}", usage, about, block, table)
    return "\n\n".join(filter(None, parts)) + "\n"


def _rows(command: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the arguments, then the options below the headings of their groups."""
    for group in command._action_groups:  # noqa: SLF001
        shown = [each for each in group._group_actions if each.dest != "help"]  # noqa: SLF001
        if shown and group.title not in ("positional arguments", "options"):
            yield f"| **{group.title}** | |"
        yield from (f"| `{_name(each)}` | {_cell(each)} |" for each in shown)


def _argument(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest.upper())
    return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ..."}.get(str(action.nargs), name)


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return _argument(action)
    metavar = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    if action.nargs == "?":
        metavar = f"[={metavar.strip()}]"
    return ", ".join(action.option_strings) + metavar


def _cell(action: argparse.Action) -> str:
    return _plain((action.help or "").replace("%%", "%").removesuffix(" (default: )"))


def _plain(text: str) -> str:
    """Return a text in which Markdown marks nothing up."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def main() -> None:
    """Write the page."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(build_page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
