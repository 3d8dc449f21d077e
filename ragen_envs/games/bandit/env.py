"""The two-armed bandit whose names carry a hint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream, content_hash
from ragen_envs.core.protocol import ActionReader
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.bandit.names import BOLD, STEADY, part_of

EXAMPLE = "ACTION"
LOW_POINTS, HIGH_POINTS, HIGH_ODDS = 15, 100, 4
"""The low-risk arm pays 0.15 always, the high-risk arm 1 once in four pulls (RAGEN, appendix)."""


@dataclass(frozen=True)
class NamedArms:
    """Two arms in the order of the observation: a steady and a bold name, in either order."""

    names: tuple[str, str]

    @property
    def steady(self) -> int:
        return 0 if self.names[0] in STEADY else 1

    @cached_property
    def digest(self) -> str:
        return content_hash("bandit", "/".join(sorted(self.names)).encode())

    @property
    def part(self) -> str:
        parts = {part_of(name) for name in self.names}
        return parts.pop() if len(parts) == 1 else "none"


@dataclass(frozen=True)
class BanditVariant:
    """One environment of the family."""

    name: str  # id without its namespace; it also names the random streams
    reversed: bool = False  # the bold name is on the low-risk arm
    budget: Budget = Budget(max_turns=1, max_actions_per_turn=1, max_actions=1)


VARIANTS = by_name(BanditVariant("Bandit-v0"), BanditVariant("BanditRev-v0", reversed=True))


class BanditEnv(TextEnv[BanditVariant, NamedArms]):
    """Pull one of two arms, once. Their names hint at how they pay.

    | | |
    | --- | --- |
    | actions | the names of the two arms |
    | rewards | the low-risk arm 0.15 always; the high-risk arm 1 with probability 0.25, else 0; -0.1 for a malformed response, or a missing or unknown arm |
    | ends | terminated after one response; a response that names no arm forfeits the pull |
    | success | the high-risk arm was pulled, whatever it paid: its expected payoff is the higher one |
    | instances | a steady and a bold name, in random order; in Bandit-v0 the bold name is the high-risk arm, in BanditRev-v0 the steady one. No name occurs in two splits. |
    | randomness | the payoff, drawn for each rollout |
    | info | `ceiling` 1.0 |
    | oracle | the high-risk arm |

    Payoffs and idea follow RAGEN (arXiv 2504.20073, appendix).

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/Bandit-v0", split="val", response_format="answer")
    observation, info = env.reset(seed=0)
    answer = f"<answer>{info['legal_actions'][0]}</answer>"
    observation, reward, terminated, truncated, info = env.step(answer)
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    variants = VARIANTS
    game = "bandit"
    variants_share_instances = True
    held_out_files = "names/{name}-{split}.txt"
    stochastic = True
    example = EXAMPLE

    def generate_instances(self, stream: RandomStream) -> Iterator[NamedArms | None]:
        while True:
            steady = STEADY[stream.below(len(STEADY))]
            bold = BOLD[stream.below(len(BOLD))]
            yield NamedArms((steady, bold) if stream.below(2) else (bold, steady))

    def write_instance(self, instance: NamedArms) -> tuple[str, dict[str, object]]:
        return "\n".join(instance.names), {}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> NamedArms:  # noqa: ARG004 (as the hook has it)
        first, second = body.split("\n")
        return NamedArms((first, second))

    def start_instance(self, instance: NamedArms) -> ActionReader:
        self._names = instance.names
        steady = instance.steady
        self._high = steady if self.variant.reversed else 1 - steady
        self._pays = self.make_noise_stream().below(HIGH_ODDS) == 0
        return ActionReader(instance.names, EXAMPLE)

    def apply_action(self, action: int) -> tuple[int, bool]:
        self.success = action == self._high
        if self.success:
            return (HIGH_POINTS if self._pays else 0), True
        return LOW_POINTS, True

    def end_turn(self) -> None:
        self.terminated = True

    def describe_rules(self) -> str:
        return (
            "You are at a machine with two arms and may pull one of them, once. Each action "
            "pulls the arm of that name.\n"
            "One arm pays a little every time. The other pays a lot, but seldom. "
            "Which is which, you have to judge by their names.\n"
            "Pull the arm that pays more on average."
        )

    def render_state(self) -> str:
        return f"Actions: {', '.join(self._names)}."

    def find_best_actions(self) -> tuple[str, ...]:
        return (self._names[self._high],)
