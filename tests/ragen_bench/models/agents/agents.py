"""Agents of the module `own_agent` in a process of their own, or isolated."""

import sys

import pytest

from ragen_bench.models.agents.subprocess_model import SubprocessModel
from ragen_bench.models.provider import Isolation

on_linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="bubblewrap is for Linux"
)
KINDS = ["process", pytest.param("sandbox", marks=on_linux)]


def make_subprocess_model(
    attribute="answer", kind="process", at_once=8, memory=2, seconds=60.0, module="own_agent"
):
    """Return the model of what the fixture `agent` has written."""
    isolation = Isolation(kind, memory, seconds, "the test says so")
    return SubprocessModel(module, attribute, at_once, isolation)
