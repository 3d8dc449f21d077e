"""Tests of the game, one for each check of the kit."""

from functools import partial

import gymnasium

from ragen_envs.testing import text_env_tests

ID = "code_game:code/Code-v0"

test_code_game = text_env_tests(
    ID,
    splits={split: partial(gymnasium.make, ID, split=split) for split in ("train", "val", "test")},
    held_out={"val": 316, "test": 313},
    max_turns=8,
)
