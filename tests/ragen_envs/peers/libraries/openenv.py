"""OpenEnv's own environment: the one that `openenv init` writes, on a server."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, partial

from ragen_envs.integrations.openenv.remote import RemoteEnv
from ragen_envs.testing import Subject
from tests.ragen_envs.peers.openenv_server import echo
from tests.ragen_envs.peers.told import subject

PACKAGE = "openenv"
UNMADE = {
    "openenv-dipg-safety 0.1.67": "its data set is on the Hugging Face Hub",
}
"""Another package with an environment of OpenEnv."""


@cache
def _url() -> str:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(echo())


def _echo() -> Subject:
    make = partial(RemoteEnv, _url(), text_key="echoed_message")
    return subject(make, answers=("hello", "well, well"))


SUBJECTS: dict[str, Callable[[], Subject]] = {"echo, from openenv init": _echo}
