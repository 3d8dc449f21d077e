"""No table cuts a name, and all of them fit the terminal."""

from types import SimpleNamespace

import pytest
from rich.console import Console

from ragen_bench.cli import audit
from ragen_bench.cli.compare import comparison_table, comparisons_table
from ragen_bench.cli.runs import failure_table, reasoning_table
from ragen_bench.terminal.results import summary_table
from ragen_envs.registration import IDS, OPPONENT_IDS

LONG = "other/AnEnvironmentOfAnotherPackageWhoseNameIsLongerThanAnyTerminalIsWideOrNearlySo-v12"


def summary(ids):
    player = {"success": 1.0, "success_interval": [0.951, 1.0], "episodes": 512}
    rows = [
        {
            **{"env": env, "episodes": 1024, "success": 1.0, "success_interval": [0.951, 1.0]},
            **{"normalised": -0.63, "format_valid": 1.0, "action_valid": 1.0, "seconds": 4567.1},
            **{"completion_tokens": 1_234_567, "random": player, "oracle": player},
        }
        for env in ids
    ]
    described = {"suite": "full", "model": "a [b]model[/b]", "split": "test"}
    return summary_table(
        {**described, "envs": rows, "suite_score": 0.5, "suite_score_interval": [0.25, 0.75]}
    )


def differences(ids):
    percent = {"a": 0.0, "b": 1.0, "difference": -1.0}
    percent |= {"interval": [-1.0, -1.0], "detectable": 1.429}
    norm = {"a": -10.25, "b": 10.25, "difference": -20.75}
    norm |= {"interval": [-20.75, -20.25], "detectable": 29.31}
    rows = [
        {
            **{"env": env, "instances": 256, "success": percent, "normalised": norm},
            **{"a_ahead": 256, "b_ahead": 256},
        }
        for env in ids
    ]
    suite = {"success": percent, "normalised": norm}
    return {"split": "sealed", "envs": rows, "suite": suite}


def comparison(ids):
    return comparison_table(differences(ids))


def comparisons(ids):
    runs = [{"name": name, "model": "m"} for name in "ABC"]
    return comparisons_table({"runs": runs, "comparisons": [differences(ids)] * 2})


def analysis(ids):
    cause = {
        **{"label": "option_not_offered", "about": "The product does not offer it."},
        **{"episodes": 256, "share": 1.0, "examples": [[255, 15, 9]]},
    }
    reasoning = {
        **{"turns": 12_345, "words_mean": 123.4, "cut_share": 1.0},
        **{
            "plans": {"agree": 1234, "differ": 1234},
            "claims": {
                "true": 999,
                "false": 9,
                "unread": 9,
                "elsewhere": {"true": 999, "false": 9},
            },
        },
        "diversity": {"repeated": 1.0, "compression": 12.3, "distinct": [0.1, 0.25, 0.3]},
    }
    row = {"episodes": 256, "failed": 256, "failures": [cause], "reasoning": reasoning}
    return {"envs": [{**row, "env": env} for env in ids]}


def audited(ids):
    counts = {
        **{"levels": 1000, "unsolved": 0, "leaked": 0, "doubled": 0, "shipped": 512, "checks": []},
        **{"shortest": 10, "longest": 20, "ceiling": 1.0, "oracle": 1.0, "blind": 0.1},
    }
    return audit.audit_table([SimpleNamespace(env=env, **counts) for env in ids])


TABLES = {
    "summary": summary,
    "compare": comparison,
    "compare more": comparisons,
    "causes": lambda ids: failure_table(analysis(ids)),
    "reasoning": lambda ids: reasoning_table(analysis(ids)),
    "audit": audited,
}


def lines(table, width):
    console = Console(width=width)
    with console.capture() as captured:
        console.print(table)
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [50, 60, 80, 120])
@pytest.mark.parametrize("table", TABLES)
def test_every_name_stands_whole_in_a_line(table, width):
    ids = (*IDS, *OPPONENT_IDS)
    shown = lines(TABLES[table](ids), width)
    assert max(map(len, shown)) <= width
    assert "…" not in "".join(shown)
    for env in ids:
        assert [env.partition("/")[2] in line.split() for line in shown].count(True) == 1, env


def test_what_a_cause_means_stands_below_the_table():
    shown = " ".join(lines(TABLES["causes"](IDS[:1]), 80)).split()
    assert " ".join(shown).endswith(" option_not_offered: The product does not offer it.")


@pytest.mark.parametrize("table", TABLES)
def test_in_50_columns_figures_stand_below_the_name_with_their_names(table):
    shown = lines(TABLES[table](["ragen/Sokoban-v0"]), 50)
    place = shown.index(" Sokoban-v0")
    first = {
        "summary": ["n", "1024", "success", "100.0"],
        "compare": ["n", "256", "A", "0.0"],
        "compare more": ["B", "n", "256", "A"],
        "causes": ["n", "256", "of", "256"],
        "reasoning": ["turns", "12,345", "words", "123.4"],
        "audit": ["train", "1,000", "unsolved", "0"],
    }[table]
    assert shown[place + 1].split()[:4] == first


@pytest.mark.parametrize("table", TABLES)
def test_a_longer_name_than_a_line_is_folded_and_nothing_of_it_lost(table):
    for width in (50, 80):
        shown = lines(TABLES[table]([LONG, *IDS]), width)
        assert max(map(len, shown)) <= width
        assert LONG.partition("/")[2] in "".join(line.strip() for line in shown)


def test_names_and_figures_stand_in_their_columns():
    longest = max(IDS, key=len)
    shown = lines(summary(["ragen/Bandit-v0", longest]), 80)
    assert shown[0].strip() == "a [b]model[/b] on full, test split"
    heading, rule, first, random = shown[2:6]
    assert rule.strip() == "─" * (len(heading) - 1)
    for name, figure in (("n", "1024"), ("success", "100.0"), ("s", "4567.1")):
        end = f"{heading} ".index(f" {name} ") + 1 + len(name)
        assert first[:end].endswith(f" {figure}")
    assert random.split()[:3] == ["random", "512", "100.0"]
    name, figures = shown[7:9]
    assert name.strip() == longest.partition("/")[2]
    assert figures.split()[0] == "1024"
    assert len(figures) == len(heading)
