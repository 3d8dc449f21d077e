"""The budget of an episode: turns, actions, and the penalty of a malformed turn."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ragen_envs.core.wording import pluralize


@dataclass(frozen=True)
class Budget:
    """The budget of an episode.

    The defaults are those of the multi-turn games in RAGEN (arXiv 2504.20073, section 3).

    Attributes:
        max_turns: Maximum number of responses in an episode.
        max_actions_per_turn: Maximum number of actions of one response; extra ones are dropped.
        max_actions: Maximum number of actions in an episode.
        penalty: Penalty of a turn with a malformed response, or a missing or unknown action, in
            hundredths of reward: 10 is a reward of -0.1.

    Raises:
        ValueError: A number is not an int, or below 1 (the penalty: below 0).
    """

    max_turns: int = 5
    max_actions_per_turn: int = 5
    max_actions: int = 10
    penalty: int = 10

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 0 if field.name == "penalty" else 1
            number = getattr(self, field.name)
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                kind = f"an int of at least {least}"
                unit = ", in hundredths of reward" if field.name == "penalty" else ""
                raise ValueError(f"{field.name} is {kind}{unit}, got {number!r}")

    @property
    def sentence(self) -> str:
        """The sentence of the rules on the budget, for games with several actions per turn."""
        return (
            f"You have {pluralize(self.max_turns, 'turn')}, with at most "
            f"{pluralize(self.max_actions_per_turn, 'action')} each and {self.max_actions} in all."
        )

    def must_allow(self, name: str, moves: int) -> None:
        """Refuse a variant whose longest instance cannot be won within the budget: a ValueError.

        `moves` is the maximum over instances of the actions in a shortest solution.
        """
        most = min(self.max_actions, self.max_turns * self.max_actions_per_turn)
        if moves > most:
            raise ValueError(
                f"{name}: instances take up to {moves} actions, and the budget has {most}; "
                f"give the variant generator=Generator(max_length={most}) or less"
            )
