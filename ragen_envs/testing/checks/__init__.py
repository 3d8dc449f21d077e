"""The checks, and their decorator, which gives all the same arguments and form of failure."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from ragen_envs.testing.failure import (
    CheckFailed,
    CheckSkipped,
    EnvironmentRaised,
    described,
    failure,
)
from ragen_envs.testing.global_random import stage
from ragen_envs.testing.player import MAKING
from ragen_envs.testing.subject import Factory, Subject, require_ids, subject_of

_UNEXPECTED = (
    "that line does not expect the state it was called in here.",
    "make the call in a console, with the seed and answer shown, and follow it.",
)
_UNMADE = (
    "the constructor wants arguments, or something that is not here.",
    "make it in a console; give arguments as make_env=lambda: MyEnv(...), or to the registration.",
)


def check(function: Callable[[Subject], None]) -> Callable[..., None]:
    """Decorate a check.

    It then takes what `check_text_env` takes: an id, a callable that makes the environment, or a
    `Subject`, with options. Where those are wrong it raises TypeError or ValueError. An unexpected
    error of the environment fails it in the form of any other failure.
    """

    @wraps(function)
    def reported(env: Factory | Subject, **options: object) -> None:
        __tracebackhide__ = True  # keeps the kit's own frames out of pytest's output
        subject = subject_of(env, **options)
        require_ids(subject)
        try:
            with stage():
                function(subject)
        except (CheckFailed, CheckSkipped):
            raise
        except EnvironmentRaised as raised:
            why = _UNMADE if raised.what == MAKING else _UNEXPECTED
            raise failure(str(raised), *why) from raised.error
        except (Exception, SystemExit) as error:
            raise failure(described(error), *_UNEXPECTED) from error

    return reported
