"""Writes the blind scripts of the games: the best fixed answers that read no observation.

    python scripts/build_blind.py [--check] [GAME ...]

A script is fitted on the first train instances of its environment; val and test are not looked at.
The budget is fixed: `SCRIPTS` scripts, each on `INSTANCES` instances. The candidates are the
actions that the oracle chooses most often there, at most `CANDIDATES`. The search starts from the
oracle's most frequent action at each place and from the constant scripts. Then it changes the best
script at random places, and keeps a change that does not lower the mean score, or the mean return
at equal scores. `--check` searches again and compares.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ragen_envs.core.game_spec import GameSpec, find_file
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.protocol import format_answer
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.registration import GAMES, load_class

SCRIPTS = 100
"""Scripts that are played for an environment."""
INSTANCES = 96
"""Train instances that each script is played on, from seed 0 on."""
CANDIDATES = 64
_CONSTANTS = 12
"""Candidates whose constant script is tried."""

Script = tuple[str, ...]
Fitness = tuple[float, float]


def search(env: AnyTextEnv, name: str) -> Script:
    """Return the best script found in the train split of an environment."""
    candidates, first = _find_candidates(env)
    stream = RandomStream("blind script", name)
    tried: dict[Script, Fitness] = {}
    best = first
    for script in _propose(first, candidates):
        tried[script] = _play(env, script)
        best = max(best, script, key=lambda each: tried.get(each, (-1.0, 0.0)))
    for _ in range(20 * SCRIPTS):  # small spaces of scripts are exhausted earlier
        if len(tried) == SCRIPTS:
            break
        script = _change(best, candidates, stream)
        if script not in tried:
            tried[script] = _play(env, script)
            best = script if tried[script] >= tried[best] else best
    return best


def _propose(first: Script, candidates: Sequence[str]) -> Iterator[Script]:
    yield first
    for action in candidates[: CANDIDATES if len(first) == 1 else _CONSTANTS]:
        if (constant := (action,) * len(first)) != first:
            yield constant


def _change(script: Script, candidates: Sequence[str], stream: RandomStream) -> Script:
    """Replace, move or insert an action, once or twice; an insertion drops the last action."""
    actions = list(script)
    for _ in range(1 + stream.below(2)):
        place, kind = stream.below(len(actions)), stream.below(3)
        action = candidates[stream.below(len(candidates))]
        if kind == 0:
            actions[place] = action
        elif kind == 1:
            actions.insert(stream.below(len(actions)), actions.pop(place))
        else:
            actions.insert(place, action)
            actions.pop()
    return tuple(actions)


def _find_candidates(env: AnyTextEnv) -> tuple[list[str], Script]:
    """Return the oracle's most frequent actions, and the most frequent one at each place."""
    budget = env.budget
    places = min(budget.max_actions, budget.max_turns * budget.max_actions_per_turn)
    counts: Counter[str] = Counter()
    by_place: list[Counter[str]] = [Counter() for _ in range(places)]
    for seed in range(INSTANCES):
        env.start_episode(seed, seed)
        actions: list[str] = []
        while env.legal_actions:
            actions += env.best_actions()
            env.play_turn(oracle_answer(env))
        counts.update(actions)
        for counter, action in zip(by_place, actions, strict=False):
            counter[action] += 1
    ranked = _rank(counts)[:CANDIDATES]
    return ranked, tuple((_rank(counter) or ranked)[0] for counter in by_place)


def _rank(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda action: (-counts[action], action))


def _play(env: AnyTextEnv, script: Script) -> Fitness:
    """Return the mean score and the mean return on the train instances."""
    answers = [format_answer(turn, "plain") for turn in split_turns(env, script)]
    scores, rewards = [], []
    for seed in range(INSTANCES):
        env.start_episode(seed, seed)
        turn = 0
        while env.is_running:
            rewards.append(env.play_turn(answers[turn % len(answers)])[1])
            turn += 1
        scores.append(env.compute_score())
    return sum_in_order(scores) / INSTANCES, sum_in_order(rewards) / INSTANCES


def split_turns(env: AnyTextEnv, script: Script) -> list[list[str]]:
    """Return a script's actions by turn, with as many in each as it may run."""
    size = env.budget.max_actions_per_turn
    return [list(script[start : start + size]) for start in range(0, len(script), size)]


def build(game: GameSpec) -> str:
    """Return the content of a game's file."""
    scripts = {}
    for variant, env_id in zip(game.variants, game.ids, strict=True):
        env: AnyTextEnv = load_class(env_id)(variant.name, split="train", response_format="plain")
        scripts[variant.name] = split_turns(env, search(env, variant.name))
    rows = (f"  {json.dumps(name)}: {json.dumps(turns)}" for name, turns in scripts.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Write or compare the files, and return the exit code."""
    check = "--check" in arguments
    names = [name for name in arguments if name != "--check"]
    differing = 0
    for game in GAMES:
        if not game.blind or (names and game.name not in names):
            continue
        file, content = Path(find_file(game.blind)), build(game)
        same = file.is_file() and file.read_text(encoding="utf-8") == content
        differing += not same
        if not (check or same):
            file.write_text(content, encoding="utf-8", newline="\n")
        state = "same" if same else "differs" if check else "wrote"
        sys.stdout.write(f"{state}  {game.name}\n")
        sys.stdout.flush()
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
