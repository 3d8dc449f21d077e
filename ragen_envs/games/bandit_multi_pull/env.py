"""The bandit with several arms and many pulls, scored by regret."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream, content_hash, partition_of
from ragen_envs.core.protocol import ActionReader
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.wording import pluralize

EXAMPLE = "ACTION"
COLOURS = ("Blue", "Green", "Red", "Yellow", "Purple")
WIN_POINTS = 100
_PERCENT = 100
_PERCENTAGES = tuple(range(5, 100, 5))
_LEAST_GAP = 10
"""Percentage points between the best arm and the next; twenty pulls cannot show smaller gaps."""
_NO_PULLS = [f"{colour} 0 of 0" for colour in COLOURS]
_READERS = {n: ActionReader(COLOURS[:n], EXAMPLE) for n in range(2, len(COLOURS) + 1)}


@dataclass(frozen=True)
class Arms:
    """The win probability of each arm in percent, in the order of the observation."""

    percentages: tuple[int, ...]

    @cached_property
    def digest(self) -> str:
        ordered = ",".join(map(str, sorted(self.percentages)))
        return content_hash("bandit-multi-pull", ordered.encode())

    @property
    def part(self) -> str:
        return partition_of(self.digest)


@dataclass(frozen=True)
class MultiPullVariant:
    """One environment of the family."""

    name: str  # id without its namespace; it also names the random streams
    arms: int = 5  # two to five
    budget: Budget = Budget(max_turns=20, max_actions_per_turn=1, max_actions=20)

    def __post_init__(self) -> None:
        if self.arms not in _READERS:
            raise ValueError(f"arms is 2 to {len(COLOURS)}, got {self.arms!r}")


VARIANTS = {"BanditMultiPull-v0": MultiPullVariant("BanditMultiPull-v0")}


class MultiPullEnv(TextEnv[MultiPullVariant, Arms]):
    """Pull five arms twenty times in total: find the best arm and stay with it.

    | | |
    | --- | --- |
    | actions | Blue, Green, Red, Yellow, Purple: one pull a turn |
    | rewards | 1 for a win, else 0; -0.1 for a malformed response, or a missing or unknown arm |
    | ends | terminated after 20 pulls; truncated after 20 turns if some of them pulled no arm |
    | success | more than half of the 20 pulls went to the best arm |
    | score | 1 - normalised regret: the mean over the 20 pulls of (p - worst) / (best - worst), where p is the win probability of the pulled arm; a turn without a pull counts 0 |
    | instances | five win probabilities from 5 % to 95 %, the best at least 10 percentage points above the next |
    | randomness | the payoff of each pull; the n-th pull of an arm in a rollout does not depend on pulls of other arms |
    | info | `ceiling` 1.0, the maximum score |
    | oracle | always pulls the best arm |

    The setup follows Krishnamurthy et al. 2024 (arXiv 2403.15371), with shorter episodes.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/BanditMultiPull-v0", response_format="plain")
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step("Green")
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    variants = VARIANTS
    game = "bandit-multi-pull"
    held_out_files = "chances/{name}-{split}.txt"
    stochastic = True
    example = EXAMPLE
    has_fixed_actions = True

    @property
    def results(self) -> tuple[tuple[int, int], ...]:
        """The pulls and the wins of each arm so far."""
        return tuple(zip(self._pulls, self._wins, strict=True))

    def generate_instances(self, stream: RandomStream) -> Iterator[Arms | None]:
        while True:
            rolls = (stream.below(len(_PERCENTAGES)) for _ in range(self.variant.arms))
            drawn = tuple(_PERCENTAGES[roll] for roll in rolls)
            *_, second, best = sorted(drawn)
            yield Arms(drawn) if best - second >= _LEAST_GAP else None

    def write_instance(self, instance: Arms) -> tuple[str, dict[str, object]]:
        return " ".join(map(str, instance.percentages)), {}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Arms:  # noqa: ARG004 (as the hook has it)
        return Arms(tuple(map(int, body.split())))

    def start_instance(self, instance: Arms) -> ActionReader:
        chances = self._percentages = instance.percentages
        arms, pulls = len(chances), self.budget.max_actions
        self._names = COLOURS[:arms]
        self._best, self._worst = chances.index(max(chances)), min(chances)
        self._most = pulls * (chances[self._best] - self._worst)
        self._gained = 0
        # Words are scaled to rolls below 100 at their use, since most are never used.
        self._words = self.make_noise_stream().words(arms * pulls)
        self._pulls, self._wins = [0] * arms, [0] * arms
        self._counts = _NO_PULLS[:arms]
        return _READERS[arms]

    def apply_action(self, action: int) -> tuple[int, bool]:
        pulls = self.budget.max_actions
        chance, pulled = self._percentages[action], self._pulls[action]
        wins = self._words[action * pulls + pulled] * _PERCENT >> 64 < chance
        self._pulls[action] = pulled + 1
        self._wins[action] += wins
        self._gained += chance - self._worst
        self._counts[action] = f"{self._names[action]} {self._wins[action]} of {pulled + 1}"
        self.success = 2 * self._pulls[self._best] > pulls
        self.terminated = sum(self._pulls) == pulls
        return WIN_POINTS * wins, True

    def compute_score(self) -> float:
        return round(self._gained / self._most, 9)

    def describe_rules(self) -> str:
        turns = pluralize(self.budget.max_turns, "turn")
        return (
            f"You are at a machine with {len(self._names)} arms. Each action pulls one.\n"
            f"Actions: {', '.join(self._names)}.\n"
            "Each arm wins with a chance of its own, which never changes. A win pays 1, a loss 0.\n"
            f"You have {turns} with one pull each. Win as often as you can."
        )

    def render_state(self) -> str:
        return f"Wins so far: {', '.join(self._counts)}."

    def find_best_actions(self) -> tuple[str, ...]:
        return (self._names[self._best],)
