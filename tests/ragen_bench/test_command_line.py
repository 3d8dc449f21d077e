"""From words to a typed command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from ragen_bench.cli.main import parser
from ragen_bench.command_line import Argument, Command, Group, Option, make_parser
from ragen_bench.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Bake(Command):
    """Bakes 100 % of the cakes.

    In an oven.
    """

    cake: Annotated[str, Argument("CAKE", "which")]
    toppings: Annotated[tuple[str, ...], Argument("TOPPING")] = ()
    out: Annotated[Path, Option("DIR", "where to")]
    degrees: Annotated[float, Option("T", "how hot")] = 0.0
    guest: Annotated[tuple[int, ...], Option("N", "who comes")] = ()
    dry_run: Annotated[bool, Option(None, "only look")] = False
    vegan: Annotated[bool | None, Option(None, "whether it is")] = None
    limit: Annotated[int | None, Option("N", "at most 5 %")] = None

    def run(self):
        return 0


@dataclass(frozen=True)
class Eat(Command):
    """Eats one."""

    cake: Annotated[Path, Argument("CAKE")] = Path("sponge")

    def run(self):
        return 0


PARSER = ("bakery", "Makes cakes.", {"bake": Bake, "guests": Group("Guests.", {"eat": Eat})})


def parsed(line):
    return make_parser(*PARSER).parse(line.split())


def test_what_is_not_typed_has_its_default():
    assert parsed("bake sponge --out x") == Bake(cake="sponge", out=Path("x"))
    assert parsed("guests eat") == Eat()
    assert parsed("guests eat a/b") == Eat(cake=Path("a/b"))


@pytest.mark.parametrize(
    "line",
    [
        "bake sponge jam nuts --out x --degrees 1.5 --guest 1 --guest 2 --dry-run --limit 3",
        "bake --out=x --limit 3 sponge --guest 1 jam --degrees 1.5 --dry-run nuts --guest 2",
        "bake sponge --out x --guest=1 --dry-run --guest=2 --deg 1.5 --lim=3 jam nuts",
    ],
)
def test_options_and_arguments_in_any_order(line):
    assert parsed(line) == Bake(
        cake="sponge",
        toppings=("jam", "nuts"),
        out=Path("x"),
        degrees=1.5,
        guest=(1, 2),
        dry_run=True,
        limit=3,
    )


def test_a_switch_with_three_states():
    states = [parsed(f"bake sponge --out x {word}").vegan for word in ("", "--vegan", "--no-vegan")]
    assert states == [None, True, False]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bake sponge", "the following arguments are required: --out (try `bakery bake --help`)"),
        ("bake --out x", "the following arguments are required: CAKE (try"),
        ("bake sponge --out x --limit two", "argument --limit: invalid int value: 'two'"),
        ("bake sponge --out x --vgan", "unrecognized arguments: --vgan; did you mean --vegan?"),
        ("bke", "unknown command 'bke'; did you mean bake?"),
        ("guests et", "unknown action 'et'; did you mean eat?"),
        ("guests eat a b", "unrecognized arguments: b (try `bakery guests eat --help`)"),
    ],
)
def test_mistakes(line, message):
    with pytest.raises(UserError) as error:
        parsed(line)
    assert str(error.value).startswith(message)


def test_the_help(capsys):
    for words in ("--help", "bake --help"):
        with pytest.raises(SystemExit) as ended:
            parsed(words)
        assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "bake      Bakes 100 % of the cakes\n" in text
    assert "how hot (default: 0.0)" in text
    assert "only look\n" in text
    assert "at most 5 %\n" in text
    assert "Bakes 100 % of the cakes.\n\nIn an oven.\n" in text
    assert "usage: bakery bake CAKE [TOPPING ...] --out DIR [options]\n" in text


def test_many_options_have_headings_and_examples(capsys):
    with pytest.raises(SystemExit):
        parser().parse(["evaluate", "--help"])
    text = capsys.readouterr().out
    order = ("usage: ragen-bench evaluate [MODEL] [options]\n", "  MODEL  ", "\nwhat to play:\n")
    order += ("  --suite NAME", "\nhow to sample:\n", "\nthe opponent:\n", "\nthe server:\n")
    order += (
        "\nyour own agent:\n",
        "\noutput:\n",
        "  --prices",
        "  -h, --help",
        "\nexamples:\n  ragen",
    )
    places = [text.index(each) for each in order]
    assert places == sorted(places)
    assert "(default: )" not in text
