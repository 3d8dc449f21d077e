"""The search of a blind script: the best fixed answers on the train split of an environment.

The rule, which was fixed before any script was played on val or test:

1. The candidates are the actions that the oracle and the random player take most often in `SHOWN`
   train instances. The pool has their action sequences there, filled up with random candidates, the
   oracle's most frequent action at each place, and each candidate alone, repeated.
2. A race plays scripts on a sixteenth of the search instances. The best quarter goes on to a
   quarter of them, and the best quarter of these to all. Scripts are ranked by the mean score,
   then by the mean return.
3. After a race of the pool, each further race is between `CHANGED` scripts that differ from one
   of the best `PARENTS` in one or two changes. The search ends when its plays are spent, or when
   no new script is found.
4. The `FINALISTS` best scripts are played on fresh train instances; the best one there is taken.
5. Its score and the random player's are measured on further fresh train instances.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from ragen_bench.json_types import JsonObject
from ragen_bench.statistics import mean_interval
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_actions
from ragen_envs.core.protocol import format_answer
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.registration import find_game, load_class

FIRST = 1_000_000
"""First train instance of a search; certificates and training take those from 0 on."""
SHOWN = 64
CANDIDATES = 64
CHANGED = 64
PARENTS = 4
FINALISTS = 8
SAMPLES = 4
"""Episodes on each instance of the last measurement."""
_DIGITS = 6
_TRIES = 20
"""Draws of a change for each place in a race, as small spaces of scripts are exhausted."""

Script = tuple[str, ...]
Fitness = tuple[float, float]
"""Sums of the scores and of the returns."""


class Sizes(NamedTuple):
    """Budget of a search: episodes to play, search instances, and fresh ones of either kind."""

    plays: int = 500_000
    instances: int = 1024
    fresh: int = 1024


SIZES = {
    "bandit-multi-pull": Sizes(200_000),
    "countdown": Sizes(150_000),
    "cube": Sizes(1_000_000, 2048, 2048),
    "desk": Sizes(24_000, 256, 512),
    "frozen-lake": Sizes(2_000_000, 4096, 4096),
    "minesweeper": Sizes(200_000),
    "search": Sizes(24_000, 256, 512),
    "sokoban": Sizes(1_000_000, 2048, 2048),
    "twenty-forty-eight": Sizes(100_000),
    "twenty-questions": Sizes(40_000, 512, 512),
    "webshop": Sizes(100_000, 512, 512),
}
"""Budgets of the games that play slowly, or whose scripts differ by less; else `Sizes()`."""


def make_silent_env(env_id: str) -> AnyTextEnv:
    """Make an environment of the train split that keeps its instances and renders no text.

    Scores and rewards are the same, many times faster.
    """
    cls = load_class(env_id)
    kept: dict[int, object] = {}

    def get_instance(self: AnyTextEnv, seed: int) -> object:
        if seed not in kept:
            kept[seed] = cls.get_instance(self, seed)
        return kept[seed]

    changed = {
        "__slots__": (),
        "get_instance": get_instance,
        "render_state": lambda _: "",
        "compute_train_info": lambda *_: {},
    }
    env: AnyTextEnv = type(cls.__name__, (cls,), changed)(
        env_id.partition("/")[2], split="train", response_format="plain"
    )
    return env


class Search:
    """The search of one environment.

    `found` has the fitness of each script and the number of instances that it is summed over.
    """

    def __init__(self, env_id: str, sizes: Sizes | None = None) -> None:
        self.sizes = sizes or SIZES.get(find_game(env_id).name, Sizes())
        self.env = make_silent_env(env_id)
        self.stream = RandomStream("blind script", env_id)
        self.found: dict[Script, tuple[int, Fitness]] = {}
        self.plays = 0
        budget = self.env.budget
        self.places = min(budget.max_actions, budget.max_turns * budget.max_actions_per_turn)

    def run(self) -> Script:
        """Return the best script."""
        candidates, pool = self._make_pool()
        self._race(pool)
        while self.plays < self.sizes.plays:
            parents = self._rank_played()[:PARENTS]
            changed: dict[Script, None] = {}
            for _ in range(_TRIES * CHANGED):
                if len(changed) == CHANGED:
                    break
                script = self._change(parents, candidates)
                if script not in self.found:
                    changed[script] = None
            if not changed:
                break
            self._race(list(changed))
        first = FIRST + self.sizes.instances
        fresh = range(first, first + self.sizes.fresh)
        finalists = self._rank_played()[:FINALISTS]
        return max(finalists, key=lambda script: play_script(self.env, script, fresh))

    def measure(self, script: Script) -> JsonObject:
        """Return the scores of a script and of the random player, with intervals."""
        first = FIRST + self.sizes.instances + self.sizes.fresh
        seeds = range(first, first + self.sizes.fresh)
        return {
            "instances": len(seeds),
            "script": _summarize([_score(self.env, script, seed) for seed in seeds]),
            "random": _summarize([_score(self.env, None, seed) for seed in seeds]),
        }

    def _make_pool(self) -> tuple[list[str], list[Script]]:
        """Return the candidates and the first scripts."""
        played: dict[str, list[list[str]]] = {"oracle": [], "random": []}
        for seed in range(FIRST, FIRST + SHOWN):
            for player, episodes in played.items():
                stream = RandomStream("blind script", player, seed)
                self.env.start_episode(seed, seed)
                episodes.append(actions := [])
                while self.env.is_running:
                    turn = (
                        list(self.env.best_actions())
                        if player == "oracle"
                        else random_actions(self.env, stream)
                    )
                    actions += turn
                    self.env.play_turn(format_answer(turn, "plain"))
        ranked = [_rank(Counter(chain.from_iterable(episodes))) for episodes in played.values()]
        both = dict.fromkeys(filter(None, chain.from_iterable(zip_longest(*ranked))))
        candidates = list(both)[:CANDIDATES]
        at_place = zip_longest(*(actions[: self.places] for actions in played["oracle"]))
        usual = [_rank(Counter(filter(None, actions)))[0] for actions in at_place]
        pool = [self._fill(usual, candidates[:1])]
        pool += [(candidate,) * self.places for candidate in candidates]
        pool += [self._fill(each, candidates) for each in chain(*played.values())]
        return candidates, list(dict.fromkeys(pool))

    def _fill(self, actions: Sequence[str], candidates: Sequence[str]) -> Script:
        missing = self.places - len(actions)
        filled = [candidates[self.stream.below(len(candidates))] for _ in range(missing)]
        return (*actions, *filled)[: self.places]

    def _race(self, scripts: list[Script]) -> None:
        for fraction in (16, 4, 1):
            count = self.sizes.instances // fraction
            for script in scripts:
                self._play_on(script, count)
            ranked = sorted(scripts, key=lambda script: self.found[script][1], reverse=True)
            scripts = ranked[: -(-len(ranked) // 4)]

    def _play_on(self, script: Script, count: int) -> None:
        done, (score, reward) = self.found.get(script, (0, (0.0, 0.0)))
        more = play_script(self.env, script, range(FIRST + done, FIRST + count))
        self.plays += count - done
        self.found[script] = count, (score + more[0], reward + more[1])

    def _rank_played(self) -> list[Script]:
        """Return the scripts that were played on all search instances, the best one first."""
        whole = [s for s, (count, _) in self.found.items() if count == self.sizes.instances]
        return sorted(whole, key=lambda script: self.found[script][1], reverse=True)

    def _change(self, parents: Sequence[Script], candidates: Sequence[str]) -> Script:
        """Replace, move or insert an action, or take the end of another parent; once or twice.

        An insertion drops the last action.
        """
        below = self.stream.below
        actions = list(parents[below(len(parents))])
        for _ in range(1 + below(2)):
            place, kind = below(len(actions)), below(4)
            if kind == 0:
                actions[place] = candidates[below(len(candidates))]
            elif kind == 1:
                actions.insert(below(len(actions)), actions.pop(place))
            elif kind == 2:
                actions.insert(place, candidates[below(len(candidates))])
                actions.pop()
            else:
                actions[place:] = parents[below(len(parents))][place:]
        return tuple(actions)


def play_script(env: AnyTextEnv, script: Script, seeds: Sequence[int], noise: int = 0) -> Fitness:
    """Return the sums of the scores and of the returns on train instances."""
    answers = [format_answer(turn, "plain") for turn in split_turns(env, script)]
    scores, rewards = 0.0, 0.0
    for seed in seeds:
        env.start_episode(seed, noise)
        turn = 0
        while env.is_running:
            rewards += env.play_turn(answers[turn % len(answers)])[1]
            turn += 1
        scores += env.compute_score()
    return scores, rewards


def split_turns(env: AnyTextEnv, script: Script) -> list[list[str]]:
    """Return a script's actions by turn, with as many in each as it may run."""
    size = env.budget.max_actions_per_turn
    return [list(script[start : start + size]) for start in range(0, len(script), size)]


def _rank(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda action: (-counts[action], action))


def _score(env: AnyTextEnv, script: Script | None, seed: int) -> list[float]:
    """Return the scores of a script, or of the random player, on an instance."""
    scores = []
    for sample in range(SAMPLES):
        if script is not None:
            scores.append(play_script(env, script, [seed], sample)[0])
            continue
        stream = RandomStream("blind script", "random", seed, sample)
        env.start_episode(seed, sample)
        while env.is_running:
            env.play_turn(format_answer(random_actions(env, stream), "plain"))
        scores.append(env.compute_score())
    return scores


def _summarize(scores: Sequence[Sequence[float]]) -> JsonObject:
    means = [sum_in_order(each) / len(each) for each in scores]
    interval = [round(bound, _DIGITS) for bound in mean_interval(scores)]
    return {"score": round(sum_in_order(means) / len(means), _DIGITS), "interval": interval}
