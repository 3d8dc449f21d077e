"""Countdown as a text environment."""

from __future__ import annotations

from dataclasses import dataclass

from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import ActionReader, Function
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.countdown import text
from ragen_envs.games.countdown.expressions import Value
from ragen_envs.games.countdown.generator import GAME, Deal, Generator
from ragen_envs.games.countdown.solver import solution
from ragen_envs.games.countdown.text import EXAMPLE, ExpressionReader, Result

WON_POINTS = 100
"""In hundredths of reward."""


@dataclass(frozen=True)
class CountdownVariant:
    """One environment of the family; the name, its id without namespace, also names the stream."""

    name: str
    generator: Generator = Generator()
    budget: Budget = Budget(max_turns=5, max_actions_per_turn=1, max_actions=5)

    def __post_init__(self) -> None:
        if self.budget.max_actions_per_turn != 1:
            raise ValueError(f"{self.name}: a turn has one expression, whose value comes first")
        if self.budget.max_turns > _MOST_TURNS:
            raise ValueError(f"{self.name}: there are up to {_MOST_TURNS} turns")


_MOST_TURNS = 8
_TILES = tuple(sorted((*range(1, 11), *range(1, 11), 25, 50, 75, 100)))
"""Those of the television game."""
VARIANTS = by_name(
    CountdownVariant("Countdown-v0"),
    CountdownVariant(
        "CountdownLarge-v0",
        Generator(_TILES, 6, min_target=100, max_target=999, fewest_used=4, max_solutions=200),
        Budget(max_turns=8, max_actions_per_turn=1, max_actions=8),
    ),
)


class CountdownEnv(TextEnv[CountdownVariant, Deal]):
    """Combine some of the numbers by arithmetic to reach the target.

    | | |
    | --- | --- |
    | actions | the whole text is one expression, cut at 100 characters: whole numbers of up to four digits, + - * / and parentheses. Each number of the deal may be used once and need not be used. * and / bind tighter than + and -. Signs such as -3 are not allowed. Text after = is ignored. × · ÷ − are read as operators too. |
    | rewards | +1 for an expression that gives the target, else 0; -0.1 for a turn with a malformed response or no text. Invalid expressions, other numbers and division by zero cost the turn without a penalty. |
    | ends | terminated when the target is reached; truncated after 5 turns (Large: 8) |
    | success | an expression gave the target |
    | instances | four different numbers from 1 to 25 and a target from 10 to 99. Large: six tiles of the television game, which has 1 to 10 twice and 25, 50, 75 and 100 once, and a target from 100 to 999. Each has 1 to 20 solutions (Large: 200), all with at least three numbers (Large: four). |
    | randomness | none: `noise_seed` changes nothing |
    | info | `ceiling` 1.0; `solutions`: the number of solutions in whole numbers, which measures difficulty; `nearest`: the smallest distance of a value so far from the target, at first that of the nearest number; `used`: the number of numbers in the turn's expression, 0 if it gave no value |
    | oracle | writes a solution |

    Values are exact rationals. Intermediate values may be fractions or negative: 8 / (3 - 8 / 3) is
    24. Solutions are counted by the rules of the television game: each step combines two numbers to
    a positive whole number. Solutions that differ only in the order of sums and products count once.
    All solutions are enumerated, so every instance can be solved without fractions.

    The numbers alone decide the split: a set of numbers occurs in one split only, whatever the target.

    `info["action_is_effective"]` is true if no earlier expression had the same value.
    `info["legal_actions"]` lists the first four numbers in order with every combination of operators,
    independent of the target. The random player picks among them. Other expressions are valid too.

    In reasoning-gym's countdown, a model gives one answer and all four to six numbers must be used.
    Here each expression is followed by its value, and the player can try again. Texts and instances
    are this suite's own.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/Countdown-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("(2 + 3) * 4")
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    __slots__ = ("_deal", "_lines", "_nearest", "_tried", "_used", "_values")
    _tried: dict[str, Result]
    _values: set[Value]
    variants = VARIANTS
    game = GAME
    held_out_files = "deals/{name}-{split}.txt"
    stochastic = False
    example = EXAMPLE
    functions = (
        Function(
            "calculate",
            "Combine the numbers.",
            "expression",
            "Of the numbers, + - * / and parentheses.",
        ),
    )

    @property
    def results(self) -> tuple[tuple[str, Result], ...]:
        return tuple(self._tried.items())

    def write_instance(self, instance: Deal) -> tuple[str, dict[str, object]]:
        values = {"target": instance.target, "solutions": instance.solutions}
        return " ".join(map(str, instance.numbers)), dict(values)

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Deal:
        numbers = tuple(map(int, body.split()))
        return Deal(numbers, int(fields["target"]), int(fields["solutions"]))

    def start_instance(self, instance: Deal) -> ActionReader:
        self._deal = instance
        self._tried = {}
        self._values = set()
        numbers = ", ".join(map(str, instance.numbers))
        self._lines = f"Numbers: {numbers}. Target: {instance.target}."
        self._nearest = float(min(abs(number - instance.target) for number in instance.numbers))
        self._used = 0.0
        return ExpressionReader(instance.numbers)

    def apply_action(self, action: int) -> tuple[int, bool]:
        deal = self._deal
        answered = self.action_reader.actions[action]
        line, tried = text.evaluate(answered, deal.numbers, deal.target)
        self._lines += f"\n{self.turn + 1}. {line}"
        self._tried[answered] = tried
        value = tried.value
        if value is None:
            self._used = 0.0
            return 0, False
        fresh = value not in self._values
        self._values.add(value)
        self._used = float(len(deal.numbers) - len(tried.rest))
        self._nearest = min(self._nearest, tried.distance)
        if value == deal.target:
            self.terminated = self.success = True
            return WON_POINTS, True
        return 0, fresh

    def end_turn(self) -> None:
        if not self.parsed.actions:
            self._used = 0.0

    def compute_extra_info(self) -> dict[str, float]:
        return {"nearest": self._nearest, "used": self._used}

    def describe_rules(self) -> str:
        return text.rules(self.variant.generator.count, self.budget.max_turns)

    def render_state(self) -> str:
        return self._lines

    def compute_oracle_info(self, instance: Deal) -> dict[str, float]:
        return {"ceiling": 1.0, "solutions": float(instance.solutions)}

    def find_best_actions(self) -> tuple[str, ...]:
        return (solution(self._deal.numbers, self._deal.target),)
