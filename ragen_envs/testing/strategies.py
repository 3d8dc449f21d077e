"""Hypothesis strategies for text environments, and a state machine that plays one in any order."""

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
    raise extras.missing("ragen_envs.testing.strategies", "hypothesis", "testing") from None

from ragen_envs.testing.checks.api import require_in_space, survive
from ragen_envs.testing.checks.episode import (
    ended_by_limit_alone,
    refuse,
    require_flags,
    require_reward,
)
from ragen_envs.testing.episodes import Parts, first_difference
from ragen_envs.testing.failure import fail
from ragen_envs.testing.hostile import HOSTILE
from ragen_envs.testing.player import Player, replay
from ragen_envs.testing.subject import Factory, Subject, require_ids, subject_of

_PIECES = (
    *("<think>", "</think>", "<answer>", "</answer>", "<", ">", "||", "\n", "\0", "\ud800"),
    *("\u202e", "\u0301", "{0}", "%s", "up", "\u00b2", "-", "9", " "),
)


def seeds(subject: Subject | None = None) -> st.SearchStrategy[int]:
    """Return a strategy of seeds: the subject's, or any from 0 to 2**31 - 1."""
    return st.sampled_from(list(subject.seeds)) if subject else st.integers(0, 2**31 - 1)


@st.composite
def instances(draw: st.DrawFn, subject: Subject) -> Player:
    """Return a strategy of players of new environments, each just reset with a drawn seed.

    `player.env` is the environment, `player.steps[0]` what the reset gave. The caller closes it.
    """
    player = Player(subject.make_env)
    player.reset(draw(seeds(subject)))
    return player


def well_formed_answers(
    actions: Sequence[str], form: str = "{}", separator: str = " || ", max_actions: int = 1
) -> st.SearchStrategy[str]:
    """Return a strategy of answers in form.

    Args:
        actions: Names of the actions.
        form: Text around them, such as "<answer>{}</answer>".
        separator: Text between them.
        max_actions: Maximum number of actions in one answer.
    """
    bodies = st.lists(st.sampled_from(list(actions)), min_size=1, max_size=max_actions)
    return bodies.map(separator.join).map(lambda body: form.replace("{}", body))


def hostile_text(max_size: int = 200_000) -> st.SearchStrategy[str]:
    """Return a strategy of texts that authors do not think of.

    They are the kit's own (`HOSTILE`) up to a length, any characters, lone surrogates included,
    and jumbles of tags, separators and format strings.
    """
    known = [text for text in HOSTILE.values() if len(text) <= max_size]
    anything = st.text(st.characters(), max_size=min(100, max_size))
    jumble = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)
    return st.one_of(st.sampled_from(known), anything, jumble.map(lambda text: text[:max_size]))


def action_sequences(
    actions: int | Sequence[str], max_size: int = 20
) -> st.SearchStrategy[list[Any]]:
    """Return a strategy of an episode's answers, turn by turn, of at most `max_size` turns.

    `actions` are the answers to choose from, or their number, for indices from 0.
    """
    action = st.integers(0, actions - 1) if isinstance(actions, int) else st.sampled_from(actions)
    return st.lists(action, max_size=max_size)


_SEED = st.runner().flatmap(lambda machine: seeds(machine.subject))
_CHOICE = st.integers(0, 63)


def _running(machine: TextEnvMachine) -> bool:
    return not machine.player.ended


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

    @precondition(lambda machine: machine.player.ended)
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


def text_env_machine(env: Factory | Subject, **options: object) -> type[TextEnvMachine]:
    """Return a state machine.

    Its `TestCase` is a test for any runner:

        TestMyEnv = text_env_machine("my_pkg:my/Env-v0").TestCase

    It resets, answers in form and out of it, copies, plays the episode again on a new environment
    and steps after the end. After each step the observation lies in its space, the reward is a
    finite number and the flags are bools. Arguments and errors are those of `check_text_env`.
    """
    subject = subject_of(env, **options)
    require_ids(subject)
    return type("TextEnvMachine", (TextEnvMachine,), {"subject": subject})
