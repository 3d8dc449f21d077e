"""Vector environments under test, and how their results are compared."""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

MODES = list(AutoresetMode)
SOKOBAN = "ragen/Sokoban-v0"


def vector(id_=SOKOBAN, num_envs=3, mode=AutoresetMode.NEXT_STEP, **kwargs):
    return gymnasium.make_vec(id_, num_envs=num_envs, autoreset_mode=mode, **kwargs)


def sync(id_=SOKOBAN, num_envs=3, mode=AutoresetMode.NEXT_STEP, **kwargs):
    return gymnasium.make_vec(
        id_,
        num_envs=num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        **kwargs,
    )


def assert_same(got, expected):
    """Compare what `reset` or `step` returned, dtypes included."""
    if isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key in expected:
            assert_same(got[key], expected[key])
    elif isinstance(expected, np.ndarray):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        assert got.tolist() == expected.tolist()
    elif isinstance(expected, tuple):
        assert type(got) is tuple
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other)
    else:
        assert type(got) is type(expected)
        assert got == expected
