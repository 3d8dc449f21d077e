"""The table of a comparison."""

from rich.console import Console

from ragen_bench.cli.compare import comparison_table
from ragen_bench.statistics import detectable_from


def figures(a, b, low, high):
    interval = {"interval": [low, high], "detectable": detectable_from((low, high))}
    return {"a": a, "b": b, "difference": a - b, **interval}


def shown(rows):
    comparison = {
        "split": "sealed",
        "envs": rows,
        "suite": {"success": rows[0]["success"], "normalised": rows[0]["normalised"]},
    }
    console = Console(width=80)
    with console.capture() as captured:
        console.print(comparison_table(comparison))
    return captured.get()


def test_the_widest_figures_fit_80_columns():
    row = {
        "env": "ragen/FrozenLakeNewVocabulary-v10",
        "instances": 256,
        "success": figures(0.0, 1.0, -1.0, 1.0),
        "a_ahead": 256,
        "b_ahead": 256,
        "normalised": figures(-10.25, 10.25, -20.75, 20.25),
    }
    text = shown([row, row])
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("-100.0 to +100.0 142.9") == 3
    assert text.count("-20.75 to +20.25 29.30") == 3
    assert "…" not in text


def test_no_difference_has_no_minus_and_no_norm_is_a_dash():
    row = {
        "env": "ragen/Bandit-v0",
        "instances": 3,
        "success": figures(0.5, 0.5, -0.0001, 0.0001),
        "a_ahead": None,
        "b_ahead": None,
        "normalised": None,
    }
    text = shown([row])
    assert text.splitlines()[4].split()[-2:] == ["-", "-"]
    assert "+0.0 to +0.0" in text
    assert "-0.0" not in text
    assert text.splitlines()[5].split() == ["norm.", *"-----"]
    assert "mean" not in text
