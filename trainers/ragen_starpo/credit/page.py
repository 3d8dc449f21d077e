"""The page of advantage estimators against the truth, with its picture."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ragen_bench.escaping import escape_html
from ragen_bench.json_types import JsonObject
from ragen_bench.markdown import escape_markdown, make_table
from ragen_bench.pages.formats import NONE
from ragen_bench.runs.atomic import write_text
from ragen_starpo.credit.turns import Size
from ragen_starpo.studies.definition import Task
from ragen_starpo.studies.pictures import make_svg

_COLUMNS = {
    "bias": "bias",
    "deviation": "std",
    "rmse": "RMSE",
    "spearman": "rank",
    "wrong_sign": "wrong sign",
    "no_sign": "no sign",
}
_ROW, _TEXT, _CHART = 18, 230, 190
_DEFAULTS = {**asdict(Size()), **asdict(Task("lake", 3)), "iterations": 0}
"""Values of options that are left out."""
_ABOUT = (
    "At a frozen policy, {continuations} episodes go on from a copied state (the game, keys and "
    "values of the history) before and after each answer. The difference of their mean returns is "
    "the turn's true advantage, Q - V. An estimate is the result of the trainer's function at the "
    "turn's first token, scaled once for a policy so that its squared error is least.",
    "*RMSE* is the root mean square of the error over all turns, less the truth's own. *Bias* and "
    "*std* split the error of those turns whose history and answer occur in several of the "
    "{batches} batches of the same prompts: the part that these share, and the rest. *Rank* is "
    "Spearman's correlation. *Wrong sign* and *no sign* are rates among turns whose truth is "
    "beyond two standard errors from 0.",
    "A critic learns from {critic_iterations} iterations of rollouts of the policy. Several "
    "critics learn from bootstraps of the same rollouts, and an estimate uses the mean of their "
    "values.",
)


def make_rows(found: JsonObject, label: str = "all") -> list[list[str]]:
    """Return a table of one class of turns: its head, then a row for each estimate."""
    rows = [["estimate", *_COLUMNS.values()]]
    for name, classes in found["estimates"].items():
        rows.append([name, *(_format(classes[label][key]) for key in _COLUMNS)])
    return rows


def write_page(folder: Path, content: JsonObject) -> None:
    """Write `credit.md`, `credit.svg` and `credit.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "credit.json", json.dumps(content, indent=1) + "\n")
    write_text(folder / "credit.svg", render_picture(content))
    write_text(folder / "credit.md", render_page(content))


def render_page(content: JsonObject) -> str:
    """Return the page in Markdown."""
    parts = [
        "# Credit against the truth",
        *(text.format(**content["size"]) for text in _ABOUT),
        "```\n" + "\n".join(_list_commands(content)) + "\n```",
        "![Rank correlations with the truth](credit.svg)",
        "[All numbers](credit.json), also by the success rate of the group, are next to this page.",
    ]
    for found in content["policies"]:
        head, *rows = make_rows(found)
        classes = next(iter(found["estimates"].values()))
        turns = [label for label in classes if label.startswith("turn ")]
        rates = [label for label in classes if label.startswith("success ")]
        by_class = [
            [name, *(_format(one[label]["spearman"]) for label in (*turns, *rates))]
            for name, one in found["estimates"].items()
        ]
        parts += [
            f"## {escape_markdown(found['name'])}",
            f"{found['turns']:,} turns with {found['pairs']:,} different pairs of history and "
            f"answer; success {100 * found['success']:.1f} %; {found['seconds']:.0f} s of one "
            f"core. The truth has a root mean square of {found['truth_rms']:.3f} and a standard "
            f"error of {found['truth_error']:.3f}; a single critic's values err by "
            f"{found['critic_error']:.3f}.",
            make_table(head, rows),
            "Rank correlation by turn, and by the success rate of the group:",
            make_table(["estimate", *turns, *rates], by_class),
        ]
    return "\n\n".join(parts) + "\n"


def _list_commands(content: JsonObject) -> list[str]:
    """Return the commands that make the policies, each in a folder of its own, and the page."""
    commands, folders = [], []
    for found in content["policies"]:
        task = found["task"]
        game = f"{task['game']}-{task['size']}" if task["size"] else task["game"]
        facts = {"skill": task["skill"], "slip": task["slip"], "seed": found["policy_seed"]}
        options = _list_options(facts | {"iterations": found["iterations"]})
        suffix = _list_options(facts).replace(" --", "-").replace(" ", "-")
        folders.append(f"{game}{suffix}-at-{found['iterations']}")
        commands.append(f"$ ragen-train credit {game}{options} --save {folders[-1]}")
    options = _list_options(content["size"])
    return [*commands, f"$ ragen-train credit {' '.join(folders)}{options} --page ."]


def _list_options(values: Mapping[str, float]) -> str:
    """Return the options of the values that differ from the command's defaults."""
    return "".join(
        f" --{name.replace('_', '-')} {value}"
        for name, value in values.items()
        if value != _DEFAULTS[name]
    )


def render_picture(content: JsonObject) -> str:
    """Return a chart for each policy: rank correlations of all turns, and of each position."""
    policies = content["policies"]
    lowest = min(0.0, *(value for found in policies for *_, value in _list_correlations(found)))

    def place(value: float) -> float:
        return round(_CHART * (value - lowest) / (1 - lowest), 1)

    names = list(policies[0]["estimates"])
    height = _ROW * (len(names) + 3)
    lines = [
        f'<text x="0" y="{_ROW * (row + 2) + 4}">{escape_html(name)}</text>'
        for row, name in enumerate(names)
    ]
    for number, found in enumerate(policies):
        left = _TEXT + number * (_CHART + 20)
        lines.append(f'<text x="{left}" y="12">{escape_html(found["name"])}</text>')
        for tick in (0, 1):
            x = left + place(tick)
            lines.append(
                f'<path d="M{x} 20V{height - _ROW}" stroke="#8886"/>'
                f'<text x="{x}" y="{height - 5}" text-anchor="middle">{tick}</text>'
            )
        for name, label, value in _list_correlations(found):
            x, y = left + place(value), _ROW * (names.index(name) + 2)
            size, colour = (5, "#cf222e") if label == "all" else (3, "#0969da88")
            lines.append(
                f'<circle cx="{x}" cy="{y}" r="{size}" fill="{colour}">'
                f"<title>{escape_html(f'{name}, {label}')}: {value:.2f}</title></circle>"
            )
    return make_svg(_TEXT + len(policies) * (_CHART + 20), height, lines)


def _list_correlations(found: JsonObject) -> list[tuple[str, str, float]]:
    """Return the estimates, the labels of turns, and their rank correlations, if there are any."""
    return [
        (name, label, metrics["spearman"])
        for name, classes in found["estimates"].items()
        for label, metrics in classes.items()
        if metrics["spearman"] is not None and not label.startswith("success ")
    ]


def _format(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"
