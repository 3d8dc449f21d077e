"""Writes docs/games/ and the tables of games, from the games' specs, docstrings and players.

`python docs/build_games.py` writes; with `--check` it fails if a file is not up to date. A table
stands between two comments, `<!-- games: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ragen_bench.analysis.failures import COMMON
from ragen_bench.json_types import JsonObject
from ragen_bench.scores.baselines import compute_baseline
from ragen_bench.scores.outcomes import find_shipped
from ragen_bench.suites import SUITES, has_split, held_out_size, make_env
from ragen_envs.core.game_spec import GameSpec
from ragen_envs.core.instances import HELD_OUT_SIZE, SHIPPED_SPLITS
from ragen_envs.core.protocol import format_answer
from ragen_envs.core.sums import sum_in_order
from ragen_envs.registration import (
    GAMES,
    IDS,
    find_blind_script,
    find_reference,
    find_variant,
    load_class,
    load_harness_class,
)

DOCS = Path(__file__).parent
FOLDER = DOCS / "games"
_MADE_BY = "<!-- Written by docs/build_games.py; change the docstring in place of this page. -->"


def pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of every game's page; the players' tables take minutes."""
    for game in GAMES:
        yield FOLDER / f"{game.name}.md", _page(game)


def tables() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of every page with a table of all games."""
    contents = {
        "environments.md": {"ids": _ids(), "pages": _links()},
        "analysis.md": {"labels": _labels()},
        "harness.md": {"suites": _suites()},
        "splits.md": {"fewer instances": _fewer_instances()},
        "results/certificates/index.md": {
            "certificates": _certificates(map(_short, IDS)),
            "other certificates": _certificates(["secretary"]),
        },
        "results/blind/index.md": {"blind": _blind_scores()},
    }
    for name, parts in contents.items():
        text = (DOCS / name).read_text(encoding="utf-8")
        for part, content in parts.items():
            text = replace_part(text, f"<!-- games: {part} -->\n", "<!-- end -->", f"{content}\n")
        yield DOCS / name, text
    config = DOCS.parent / "mkdocs.yml"
    nav = "".join(f"          - games/{game.name}.md\n" for game in GAMES)
    yield (
        config,
        replace_part(
            config.read_text(encoding="utf-8"), "      - Games:\n", "      - reference/", nav
        ),
    )


def replace_part(text: str, start: str, end: str, content: str) -> str:
    """Replace what stands between two marks."""
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    replaced, count = pattern.subn(lambda _: f"{start}{content}{end}", text)
    if count != 1:
        raise ValueError(f"expected one {start.strip()} before {end.strip()}, found {count}")
    return replaced


def _ids() -> str:
    rows = ["| id | description |", "| --- | --- |"]
    rows += [f"| `{id_}` | {find_variant(id_).description} |" for game in GAMES for id_ in game.ids]
    return "\n".join(rows)


def _links() -> str:
    links = (f"[{_title(game)}](games/{game.name}.md)" for game in GAMES)
    return f"Each game has a page: {', '.join(links)}."


def _title(game: GameSpec) -> str:
    return game.variants[0].name.removesuffix("-v0")


def _labels() -> str:
    rows = ["| label | game | meaning |", "| --- | --- | --- |"]
    rows += [f"| `{label}` | all | {about} |" for label, about in COMMON.items()]
    rows += [
        f"| `{label}` | {_title(game)} | {about} |"
        for game in GAMES
        for label, about in game.labels.items()
    ]
    return "\n".join(rows)


def _suites() -> str:
    rows = ["| suite | version | environments | instances |", "| --- | --- | --- | --- |"]
    for name, suite in SUITES.items():
        ids = "all" if name == "full" else ", ".join(f"`{_short(id_)}`" for id_ in suite.chosen)
        rows.append(f"| `{name}` | {suite.version} | {ids} | {sum(suite.instances.values()):,} |")
    return "\n".join(rows)


def _fewer_instances() -> str:
    rows = ["| id | instances in val, and in test | sealed and drawn |", "| --- | --- | --- |"]
    for id_ in IDS:
        size, sealed = held_out_size(id_), has_split(id_, "sealed")
        if size < HELD_OUT_SIZE or not sealed:
            rows.append(f"| `{_short(id_)}` | {size} | {'as many' if sealed else 'no'} |")
    return "\n".join(rows)


def _certificates(names: Iterable[str]) -> str:
    rows = [
        "| environment | floor | best player | idle | mindless | above | blind "
        "| passed | failed | exempt | not asked |",
        "| --- " * 11 + "|",
    ]
    for name in names:
        file = DOCS / f"results/certificates/{name}.json"
        if file.is_file():
            content = json.loads(file.read_text(encoding="utf-8"))
            rows.append(f"| `{name}` | {' | '.join(_certificate_cells(content))} |")
    return "\n".join(rows)


def _certificate_cells(content: Any) -> Iterator[str]:
    panel, floor = content["panel"], content["panel"]["floor"]
    low, high = floor["interval"]
    yield f"{floor['score']:.4f} [{low:.4f}, {high:.4f}]"
    yield "-" if panel["ceiling"] is None else f"{panel['ceiling']:.3f}"
    sides = [[row for row in panel["players"] if row["plays"] is plays] for plays in (False, True)]
    idle, mindless = (max(side, key=lambda row: row["score"]) for side in sides)
    yield f"{idle['score']:.4f}"
    yield f"{mindless['player']} {mindless['score']:.4f}"
    yield ", ".join(row["player"] for row in panel["players"] if row["above"]) or "-"
    yield f"{panel['blind']['score']:.4f}" if "blind" in panel else "-"
    counts = Counter(answer["status"] for answer in content["answers"])
    for status in ("passed", "failed", "exempt", "not asked"):
        yield str(counts[status])


def _blind_scores() -> str:
    rows = [
        "| environment | random, train | script, train | the script is | random, val | script, val "
        "| random, test | script, test |",
        "| --- " * 8 + "|",
    ]
    content = json.loads((DOCS / "results/blind/train.json").read_text(encoding="utf-8"))
    for env, scores in content.items():
        (low, high), (least, most) = (scores[who]["interval"] for who in ("script", "random"))
        cells = [
            f"{scores[who]['score']:.4f} [{', '.join(f'{b:.4f}' for b in scores[who]['interval'])}]"
            for who in ("random", "script")
        ]
        cells.append("above" if low > most else "below" if high < least else "not above")
        for split in SHIPPED_SPLITS:
            for player in ("random", "blind"):
                found = find_shipped(player, env, split) or []
                score = sum_in_order(outcome.score or 0.0 for outcome in found) / len(found)
                cells.append(f"{score:.4f}")
        rows.append(f"| `{_short(env)}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def _short(id_: str) -> str:
    return id_.partition("/")[2]


def _page(game: GameSpec) -> str:
    env_class = load_class(game.ids[0])
    first = game.ids[0]
    parts = [
        f"# {_title(game)}",
        _MADE_BY,
        inspect.getdoc(env_class) or "",
        "## Variants",
        _variants(game, env_class),
        f"Success of the random player on each of the {_sizes(game)} test instances, 16 episodes "
        "each, of the blind script, and expected score of the best player on them:",
        _players(game),
        *(
            f"In {id_.partition('/')[2]} that is a reference player, and its score is not an upper "
            f"bound: {why}."
            for id_ in game.ids
            if (why := find_reference(id_))
        ),
        "The blind script is the best fixed sequence of actions that [a search in the train "
        "split](../results/blind/index.md) finds; it reads no observation. Turn by turn:",
        _scripts(game),
        f"## The first observation of `{first}`, test instance 0",
        _block(make_env(first, "test", "think").reset(seed=0)[0]),
    ]
    if others := [id_ for id_ in game.ids[1:] if _state(id_) != _state(first)]:
        parts.append("The first state of the other variants' test instance 0:")
        parts += [f"`{id_}`\n\n{_block(_state(id_))}" for id_ in others]
    for id_ in game.opponent_ids:
        parts += _against(id_)
    return "\n\n".join(parts) + "\n"


def _sizes(game: GameSpec) -> str:
    """Return the numbers of test instances of the variants, each number once."""
    return " or ".join(map(str, dict.fromkeys(map(held_out_size, game.ids))))


def _variants(game: GameSpec, env_class: Any) -> str:
    rows = ["| id | | turns | actions a turn | actions | penalty |", "| --- " * 6 + "|"]
    for variant in game.variants:
        budget = env_class.variants[variant.name].budget
        cells = [
            f"`{game.namespace}/{variant.name}`",
            variant.description,
            budget.max_turns,
            budget.max_actions_per_turn,
            budget.max_actions,
            f"{budget.penalty / 100:g}",
        ]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def _players(game: GameSpec) -> str:
    rows = [
        "| id | random success | random score | blind success | blind score | best score |",
        "| --- " * 6 + "|",
    ]
    for env in game.ids:
        found = compute_baseline("random", env, "test", range(held_out_size(env)))
        low, high = (f"{100 * bound:.1f}" for bound in found["success_interval"])
        blind = compute_baseline("blind", env, "test", range(held_out_size(env)))
        rows.append(
            f"| `{env}` | {100 * found['success']:.1f} % [{low}, {high}] | {found['score']:.3f} | "
            f"{_blind_cells(blind)} | {found['ceiling']:.3f}"
            f"{' (reference)' if find_reference(env) else ''} |"
        )
    return "\n".join(rows)


def _blind_cells(found: JsonObject | None) -> str:
    if found is None:
        return "- | -"
    low, high = (f"{100 * bound:.1f}" for bound in found["success_interval"])
    return f"{100 * found['success']:.1f} % [{low}, {high}] | {found['score']:.3f}"


def _scripts(game: GameSpec) -> str:
    """Return the blind scripts, a turn after the other."""
    rows = [
        f"- `{env}`: `{' / '.join(', '.join(turn) for turn in script)}`"
        for env in game.ids
        if (script := find_blind_script(env))
    ]
    return "\n".join(rows)


def _state(env_id: str) -> str:
    env = make_env(env_id, "test", "think")
    env.reset(seed=0)
    return env.render() or ""


def _against(env_id: str) -> list[str]:
    """Return the section of an id that needs an opponent."""
    cls = load_harness_class(env_id)
    env = cls(env_id.partition("/")[2], "test", "think")
    env.reset(seed=0)
    return [
        f"## Played against a model: `{env_id}`",
        inspect.getdoc(cls) or "",
        "What the answerer reads on test instance 0, in the format `think`:",
        _block(env.opponent_reads(format_answer(["Is it alive?"], "think"))),
    ]


def _block(text: str) -> str:
    return f"```\n{text}\n```"


def main() -> int:
    """Write the pages, or compare them; return the exit code."""
    check = "--check" in sys.argv[1:]
    differing = 0
    for path, text in (*tables(), *pages()):
        same = path.is_file() and path.read_text(encoding="utf-8") == text
        differing += not same
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        state = "same" if same else "differs" if check else "wrote"
        sys.stdout.write(f"{state}  {path.relative_to(DOCS.parent)}\n")
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
