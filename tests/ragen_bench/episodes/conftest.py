"""Configurations and records of short runs of every environment."""

import dataclasses

import pytest

from ragen_bench.models import resolve
from ragen_envs.core.instances import RandomStream
from ragen_envs.registration import IDS
from tests.ragen_bench.episodes.replayed import (
    EVALUATION,
    mixed,
    play,
)


@pytest.fixture(scope="package")
def configs():
    model = resolve("random")
    forms = ("think", "answer", "plain")
    return {
        form: dataclasses.replace(EVALUATION, response_format=form).config(model) for form in forms
    }


@pytest.fixture(scope="package")
def records():
    return [
        play(env, index, index % 3, mixed(RandomStream("replay", env, index)))
        for env in IDS
        for index in range(4)
    ]
