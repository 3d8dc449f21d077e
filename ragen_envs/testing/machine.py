"""A Hypothesis state machine that plays an environment in every order it can think of."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from random import Random
from typing import Any, ClassVar

from ragen_envs.core import extras

try:
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
except ImportError:
    raise extras.missing("ragen_envs.testing.machine", "hypothesis", "testing") from None

from ragen_envs.testing.checks.api import require_in_space, survive
from ragen_envs.testing.checks.episode import (
    ended_by_limit_alone,
    refuse,
    require_flags,
    require_reward,
)
from ragen_envs.testing.episodes import Parts, first_difference
from ragen_envs.testing.failure import fail
from ragen_envs.testing.player import Player, replay
from ragen_envs.testing.strategies import hostile_text, seeds
from ragen_envs.testing.subject import Factory, Subject, require_ids, subject_of

_SEED = st.runner().flatmap(lambda machine: seeds(machine.subject))
_CHOICE = st.integers(0, 63)


def _running(machine: TextEnvMachine) -> bool:
    return not machine.player.ended


def _has_ended(machine: TextEnvMachine) -> bool:
    return machine.player.ended


class TextEnvMachine(RuleBasedStateMachine):
    """The rules; `text_env_machine` gives them a subject."""

    subject: ClassVar[Subject]

    @initialize(seed=_SEED)
    def make(self, seed: int) -> None:
        """Make an environment and start its first episode."""
        self.player = Player(self.subject.make_env)
        self.player.reset(seed)

    def teardown(self) -> None:
        """Close the environment."""
        if hasattr(self, "player"):  # Hypothesis tears down even where `make` failed
            self.player.close()

    @rule(seed=_SEED)
    def reset(self, seed: int) -> None:
        """Start another episode, whether or not this one ended."""
        self.player.reset(seed)

    @precondition(_running)
    @rule(choice=_CHOICE)
    def answer(self, choice: int) -> None:
        """Answer in form."""
        self.player.step(self.player.choose(self.subject, Random(choice)))

    @precondition(_running)
    @rule(text=hostile_text(max_size=1000))
    def answer_with_anything(self, text: str) -> None:
        """Answer with a hostile text."""
        survive(self.player, "hostile", text)

    @precondition(_running)
    @rule(choice=_CHOICE)
    def copy_plays_alike_and_apart(self, choice: int) -> None:
        """Let a deep copy play on first; then the original does the same."""
        with self.player.twin(copy.deepcopy) as twin:
            answer = twin.choose(self.subject, Random(choice))
            expected = twin.step(answer)
        self._expect([expected.parts], [self.player.step(answer).parts], "after a deep copy")

    @rule()
    def replay(self) -> None:
        """Play the episode so far again, on a new environment."""
        with Player(self.subject.make_env) as other:
            again = replay(other, self.player.episode)
        self._expect(self.player.episode.parts, again.parts, "played again")

    @precondition(_has_ended)
    @rule(text=hostile_text(max_size=100))
    def step_after_the_end(self, text: str) -> None:
        """A step after the end is refused, with an error that speaks of reset."""
        if not ended_by_limit_alone(self.subject, self.player.episode):
            refuse(self.player, text, f"seed {self.player.seed}: after the end")

    @invariant()
    def observation_in_space(self) -> None:
        """The last observation lies in its space."""
        require_in_space(self.player, self.player.steps[-1], "")

    @invariant()
    def reward_and_flags(self) -> None:
        """The last reward is a finite number, and the flags are bools."""
        where = f"seed {self.player.seed}, turn {self.player.turn}"
        require_reward(self.player.steps[-1], where)
        require_flags(self.player.steps[-1], where)

    def _expect(self, expected: Sequence[Parts], got: Sequence[Parts], when: str) -> None:
        if difference := first_difference(expected, got):
            fail(
                f"seed {self.player.seed}, {when}: {difference}",
                "state outside the object, or a generator without the seed.",
                "the check functions of ragen_envs.testing tell which; run check_text_env.",
            )


def text_env_machine(env: Factory | Subject, **options: Any) -> type[TextEnvMachine]:
    """Return a state machine.

    Its `TestCase` is a test for any runner:

        TestMyEnv = text_env_machine("my_pkg:my/Env-v0").TestCase

    It resets, answers in form and out of it, copies, plays the episode again on a new environment
    and steps after the end. After each step the observation lies in its space, the reward is a
    finite number and the flags are bools.

    Args:
        env: an id of Gymnasium's registry, a callable that makes the environment, or a `Subject`.
        **options: the attributes of `Subject`.

    Raises:
        TypeError: An option that is not known, or of another type than it takes.
        ValueError: An option out of its range, or an id that leads nowhere.
    """
    subject = subject_of(env, **options)
    require_ids(subject)
    return type("TextEnvMachine", (TextEnvMachine,), {"subject": subject})
