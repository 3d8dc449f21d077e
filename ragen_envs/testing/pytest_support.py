"""One pytest test for each check of an environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragen_envs.testing.checks import CHECKS
from ragen_envs.testing.failure import CheckFailed
from ragen_envs.testing.kit import Run
from ragen_envs.testing.subject import Factory, Subject, subject_of


def text_env_tests(env: Factory | Subject, **options: Any) -> Callable[[str], None]:
    """Return a test that runs once for each check.

    Bind it to a name that pytest collects:

        test_my_env = text_env_tests("my_pkg:my/Env-v0")

    Args:
        env: an id of Gymnasium's registry, a callable that makes the environment, or a `Subject`.
        **options: the attributes of `Subject`.

    Raises:
        ImportError: without pytest.
        TypeError: for an option that is not known, or of another type than it takes.
        ValueError: for an option out of its range, or an id that leads nowhere.
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
