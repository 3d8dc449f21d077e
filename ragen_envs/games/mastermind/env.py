"""Mastermind as a text environment."""

from __future__ import annotations

from dataclasses import dataclass

from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import ActionReader, Function
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.mastermind import text
from ragen_envs.games.mastermind.rules import GAME, Codes, Generator, Opening, all_codes
from ragen_envs.games.mastermind.solver import ceiling, solver
from ragen_envs.games.mastermind.text import EXAMPLE

WON_POINTS = 100
"""In hundredths of reward."""


@dataclass(frozen=True)
class MastermindVariant:
    """One environment of the family, with turns of one guess each."""

    name: str  # id without its namespace; it also names the random streams
    generator: Generator = Generator()
    budget: Budget = Budget(max_turns=3, max_actions_per_turn=1, max_actions=3)

    def __post_init__(self) -> None:
        if self.budget.max_actions_per_turn != 1:
            raise ValueError(f"{self.name}: a turn has one guess, whose answer comes first")


VARIANTS = by_name(
    MastermindVariant("Mastermind-v0"),
    MastermindVariant("MastermindLarge-v0", Generator(pegs=4, rows=2, fewest=24, most=120)),
)


class MastermindEnv(TextEnv[MastermindVariant, Opening]):
    """Find a secret code. Each guess is answered by two numbers.

    | | |
    | --- | --- |
    | actions | a code, such as A A B: 3 pegs (Large: 4), each in one of six colours, A to F. One guess per turn; case and blanks do not matter. Codes that the answers rule out may be guessed too. |
    | rewards | +1 for the right guess, else 0; -0.1 once for a turn with a malformed response, or a missing or unknown code |
    | ends | terminated by the right guess; truncated after 3 turns. The last observation names the code. |
    | success | the code was guessed |
    | instances | openings: three random guesses (Large: two) with their answers for a random code. Each answer rules out at least one code. An opening leaves 6 to 40 of the 216 codes (Large: 24 to 120 of 1,296). |
    | randomness | the secret code, drawn for each rollout from the codes that the opening leaves, all equally likely; nothing else is random |
    | info | `ceiling`: the exact success probability of the best player, who knows the observations only, in train with `oracle_info=True` only; `possible`: the number of codes that agree with all answers so far. About the turn's guess: `bits`, the information gained, log2 of the ratio of possible codes before and after it; `consistent`, 1 if it agreed with all earlier answers. Both are 0 in a turn without a guess. |
    | oracle | the best player, by exact search; its guess depends on the observations only |

    `info["action_is_effective"]` is true if the guess was right or ruled out a code.

    The answer gives the number of pegs with the right colour in the right place, and the number of
    other pegs whose colour the code has in another place. Each peg counts once (Knuth, The computer
    as Master Mind, 1976).

    The secret codes cannot be split: up to the names of colours and the order of places there are
    three different codes of 3 pegs, and five of 4. An instance is therefore the opening, not the
    code: its content is public, and its ceiling is an expectation over rollouts. Openings of two
    splits leave different sets of codes, under any renaming of colours and places. Later in an
    episode, different openings can leave the same codes.

    The ceilings are exact for both sizes, since an opening leaves few enough codes to search all
    guesses. In Mastermind-v0 three guesses suffice for every code of nearly all openings. In Large
    they suffice in three of four openings; in the others the best player needs luck. The complete
    game of 4 pegs, from an empty board, is not played here. Its best strategies need 5 guesses in the
    worst case (Knuth 1976) and 5625 / 1296, about 4.34, on average (Koyama and Lai, An optimal
    Mastermind strategy, 1993; `benchmarks/mastermind_whole_game.py` finds the same).

    A guess that agrees with all answers is not always a best guess: some possible codes give more
    information than others, and so can a code that is ruled out. `bits` and `consistent` measure the
    two separately.

    The rules are the usual ones. Texts and instances are this suite's own.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/Mastermind-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0, options={"noise_seed": 3})
    observation, reward, terminated, truncated, info = env.step("A B C")
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    __slots__ = (
        "_bits",
        "_consistent",
        "_every",
        "_possible",
        "_possible_count",
        "_rows",
        "_secret",
    )
    _every: Codes
    _possible: int
    variants = VARIANTS
    game = GAME
    held_out_files = "openings/{name}-{split}.txt"
    stochastic = True
    example = EXAMPLE
    functions = (
        Function("guess", "Guess the code.", "code", "Its letters, with blanks between them."),
    )
    has_fixed_actions = True

    @property
    def possible(self) -> int:
        """The set of the codes that agree with all answers so far, as `rules` numbers them."""
        return self._possible

    def write_instance(self, instance: Opening) -> tuple[str, dict[str, object]]:
        every = all_codes(instance.pegs)
        rows = [
            " ".join([every.names[guess], *map(str, every.kinds[kind])])
            for guess, kind in instance.rows
        ]
        return "\n".join(rows), {"ceiling": f"{self._ceiling(instance):.9f}"}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Opening:
        rows = [line.split() for line in body.splitlines()]
        pegs = len(rows[0]) - 2
        every = all_codes(pegs)
        guesses = (every.names.index(" ".join(row[:pegs])) for row in rows)
        kinds = (every.kinds.index((int(row[-2]), int(row[-1]))) for row in rows)
        return Opening(pegs, tuple(zip(guesses, kinds, strict=True)), float(fields["ceiling"]))

    def start_instance(self, instance: Opening) -> ActionReader:
        secrets = instance.secrets
        self._every = all_codes(instance.pegs)
        self._secret = secrets[self.make_noise_stream().below(len(secrets))]
        self._possible = instance.possible
        self._possible_count = len(secrets)
        self._rows = text.table(instance.pegs, instance.rows)
        self._bits = self._consistent = 0.0
        return text.reader(instance.pegs)

    def apply_action(self, action: int) -> tuple[int, bool]:
        every, before, count = self._every, self._possible, self._possible_count
        kind = every.rows[action][self._secret]
        self._possible = before & every.agreeing(action, kind)
        self._possible_count = self._possible.bit_count()
        self._bits = text.bits(count, self._possible_count)
        self._consistent = float(before >> action & 1)
        self._rows += "\n" + text.row(every.pegs, action, kind)
        if kind == every.win:
            self.terminated = self.success = True
            return WON_POINTS, True
        return 0, self._possible_count < count

    def end_turn(self) -> None:
        if not self.parsed.actions:
            self._bits = self._consistent = 0.0

    def compute_extra_info(self) -> dict[str, float]:
        return {
            "possible": float(self._possible_count),
            "bits": self._bits,
            "consistent": self._consistent,
        }

    def describe_rules(self) -> str:
        return text.rules(self.variant.generator.pegs, self.budget.max_turns)

    def render_state(self) -> str:
        if self.is_running:
            return self._rows
        return f"{self._rows}\n{text.ending(self._every.names[self._secret], self.success)}"

    def compute_oracle_info(self, instance: Opening) -> dict[str, float]:
        return {"ceiling": self._ceiling(instance)}

    def compute_train_info(self, instance: Opening) -> dict[str, float]:  # noqa: ARG002
        return {}

    def _ceiling(self, instance: Opening) -> float:
        return ceiling(instance, self.budget) if instance.ceiling is None else instance.ceiling

    def find_best_actions(self) -> tuple[str, ...]:
        every = self._every
        guesses = min(self.turns_left, self.actions_left)
        best = solver(every.pegs).best(every.members(self._possible), guesses)
        return (every.names[best.guess],)
