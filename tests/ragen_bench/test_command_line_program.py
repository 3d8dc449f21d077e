"""What a program does when its command fails."""

from dataclasses import dataclass

import pytest

from ragen_bench.command_line import Command, make_parser, run_program
from ragen_bench.errors import UserError, missing_extra

MISSING = ModuleNotFoundError("No module named 'oven.door'", name="oven.door")


@dataclass(frozen=True)
class Bake(Command):
    """Bakes."""

    def run(self):
        return 3


@dataclass(frozen=True)
class Roast(Bake):
    """Roasts."""

    extra = "roast"


def code_of(monkeypatch, name, error=None):
    def run(self):
        if error:
            raise error
        return 3

    monkeypatch.setattr(Bake, "run", run)
    return run_program(make_parser("kitchen", "Cooks.", {"bake": Bake, "roast": Roast}), [name])


def wrapped():
    error = ImportError("Could not import module 'Oven'")
    error.__cause__ = MISSING
    return error


def part_is_missing():
    error = missing_extra(MISSING, "part")
    error.__cause__ = MISSING
    return error


def own_module_is_missing():
    error = UserError("my_roast cannot be imported: " + str(MISSING))
    error.__cause__ = MISSING
    return error


@pytest.mark.parametrize(
    ("name", "error", "code", "says"),
    [
        ("bake", None, 3, ""),
        ("bake", UserError("no flour", exit_code=1), 1, "kitchen: no flour\n"),
        ("bake", MISSING, 2, "pip install '.[bench]'"),
        ("roast", MISSING, 2, "pip install '.[roast]'"),
        ("bake", wrapped(), 2, "kitchen: this needs oven: in a checkout pip install '.[bench]'"),
        ("bake", part_is_missing(), 2, "pip install '.[part]'"),
        ("roast", part_is_missing(), 2, "pip install '.[roast]'"),
        ("roast", own_module_is_missing(), 2, "kitchen: my_roast cannot be imported: No module"),
        ("bake", KeyboardInterrupt(), 130, "\nkitchen: interrupted\n"),
        ("bake", OSError(28, "No flour", "oven"), 1, "kitchen: oven: No flour\n"),
        ("bake", OSError("no flour"), 1, "kitchen: no flour\n"),
        ("bke", None, 2, "kitchen: unknown command 'bke'; did you mean bake?\n"),
    ],
)
def test_exit_codes_and_messages(monkeypatch, capsys, name, error, code, says):
    assert code_of(monkeypatch, name, error) == code
    assert says in capsys.readouterr().err


def test_a_module_of_ours_that_is_missing_is_a_fault_of_the_program(monkeypatch):
    missing = ModuleNotFoundError("No module named 'ragen_bench.oven'", name="ragen_bench.oven")
    with pytest.raises(ModuleNotFoundError):
        code_of(monkeypatch, "bake", missing)
