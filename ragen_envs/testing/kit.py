"""The runner of the checks on one environment, with and without pytest."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ragen_envs.testing.checks import api, determinism, episode, isolation, oracle
from ragen_envs.testing.failure import CheckFailed, CheckSkipped, Outcome
from ragen_envs.testing.options import BUILDS_ON
from ragen_envs.testing.subject import Factory, Subject, require_ids, subject_of


class Check(NamedTuple):
    """A check, which raises `CheckFailed` or `CheckSkipped`; it is skipped if one before failed."""

    function: Callable[[Subject], None]
    after: tuple[str, ...]


CHECKS = {
    name: Check(vars(module)[f"check_{name}"], after)
    for name, after in BUILDS_ON.items()
    for module in (api, determinism, episode, isolation, oracle)
    if f"check_{name}" in vars(module)
}
"""The checks by their names, in the order in which they run; each is the function `check_NAME`."""


class Run:
    """The outcomes of the checks of one subject, each computed at its first use.

    An id of the subject that leads nowhere is a ValueError.
    """

    def __init__(self, subject: Subject) -> None:
        require_ids(subject)
        self._subject = subject
        self._found: dict[str, Outcome] = {}

    def outcome(self, name: str) -> Outcome:
        """Return the outcome of a check, after those that it builds on."""
        if name not in self._found:
            self._found[name] = self._outcome(name)
        return self._found[name]

    def _outcome(self, name: str) -> Outcome:
        if name in self._subject.skip:
            return Outcome(name, "skipped", "left out by the option 'skip'")
        check = CHECKS[name]
        failed = [earlier for earlier in check.after if self.outcome(earlier).status == "failed"]
        if failed:
            return Outcome(name, "skipped", f"builds on {failed[0]}, which failed")
        try:
            check.function(self._subject)
        except CheckFailed as failure:
            return Outcome(name, "failed", str(failure))
        except CheckSkipped as skip:
            return Outcome(name, "skipped", str(skip))
        return Outcome(name, "passed")


def run_checks(
    subject: Subject, on_outcome: Callable[[Outcome], None] | None = None
) -> tuple[Outcome, ...]:
    """Run every check; `on_outcome` is called with each outcome, in the order of `CHECKS`."""
    run = Run(subject)
    for name in CHECKS:
        outcome = run.outcome(name)
        if on_outcome:
            on_outcome(outcome)
    return tuple(map(run.outcome, CHECKS))


def check_text_env(env: Factory | Subject, **options: object) -> tuple[Outcome, ...]:
    """Run every check on an environment.

    Args:
        env: Id of Gymnasium's registry, a callable that makes the environment, or a `Subject`.
        **options: Attributes of `Subject`; they replace those of a given `Subject`.

    Returns:
        The outcomes, passed or skipped, in the order of `CHECKS`.

    Raises:
        CheckFailed: A check failed; the message names each that did, and `outcomes` has all.
        TypeError: An option that is not known, or of another type than it takes.
        ValueError: An option out of its range, or an id that leads nowhere.
    """
    outcomes = run_checks(subject_of(env, **options))
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    if failed:
        listed = "\n".join(f"- {outcome.name}: {outcome.message}" for outcome in failed)
        raise CheckFailed(f"{len(failed)} of {len(outcomes)} checks failed:\n{listed}", outcomes)
    return outcomes


def text_env_tests(env: Factory | Subject, **options: object) -> Callable[[str], None]:
    """Return a test that runs once for each check.

    Bind it to a name that pytest collects:

        test_my_env = text_env_tests("my_pkg:my/Env-v0")

    Arguments and errors are those of `check_text_env`. ImportError if pytest is not installed.
    """
    try:
        import pytest
    except ImportError:
        raise ImportError("text_env_tests needs pytest: pip install pytest") from None
    run = Run(subject_of(env, **options))

    @pytest.mark.parametrize("check", list(CHECKS))
    def test_text_env(check: str) -> None:
        __tracebackhide__ = True
        outcome = run.outcome(check)
        if outcome.status == "skipped":
            pytest.skip(outcome.message)
        if outcome.status == "failed":
            raise CheckFailed(outcome.message)

    return test_text_env
