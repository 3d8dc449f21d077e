"""Writes the blind scripts of the games: the best fixed answers that read no observation.

    python scripts/build_blind.py [--check] [GAME ...]

`blind_search.py` states how a script is searched; val and test are not looked at. A game's scripts
are written to its `blind.json`, their scores on train to `docs/results/blind/train.json`.
`--check` searches again and compares.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from blind_search import Search, split_turns

from ragen_bench.json_types import JsonObject
from ragen_envs.core.game_spec import GameSpec, find_file
from ragen_envs.registration import GAMES

TRAIN_SCORES = Path(__file__).parents[1] / "docs/results/blind/train.json"


def build(game: GameSpec) -> tuple[str, JsonObject]:
    """Return the content of a game's file, and the scores on train by id."""
    scripts, scores = {}, {}
    for variant, env_id in zip(game.variants, game.ids, strict=True):
        search, begin = Search(env_id), time.process_time()
        script = search.run()
        scripts[variant.name] = split_turns(search.env, script)
        scores[env_id] = search.measure(script)
        seconds = time.process_time() - begin
        sys.stdout.write(f"{env_id}: {search.plays:,} plays in {seconds:.0f} s of CPU\n")
        sys.stdout.flush()
    return format_rows(scripts), scores


def format_rows(content: JsonObject) -> str:
    """Return a JSON object with a line for each field."""
    rows = (f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in content.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Write or compare the files, and return the exit code."""
    check = "--check" in arguments
    names = [name for name in arguments if name != "--check"]
    differing = 0
    for game in GAMES:
        if not game.blind or (names and game.name not in names):
            continue
        scripts, scores = build(game)
        known: JsonObject = json.loads(TRAIN_SCORES.read_text(encoding="utf-8"))
        merged = {env: {**known, **scores}[env] for env in _order({**known, **scores})}
        contents = {Path(find_file(game.blind)): scripts, TRAIN_SCORES: format_rows(merged)}
        same = all(
            file.is_file() and file.read_text(encoding="utf-8") == content
            for file, content in contents.items()
        )
        differing += not same
        if not (check or same):
            for file, content in contents.items():
                file.write_text(content, encoding="utf-8", newline="\n")
        state = "same" if same else "differs" if check else "wrote"
        sys.stdout.write(f"{state}  {game.name}\n")
        sys.stdout.flush()
    return 1 if check and differing else 0


def _order(scores: JsonObject) -> list[str]:
    """Return ids in the order of the games."""
    return [env for game in GAMES for env in game.ids if env in scores]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
