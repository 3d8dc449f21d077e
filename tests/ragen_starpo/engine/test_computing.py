"""How a recipe's models compute on a device."""

import pytest

from ragen_starpo.engine import computing
from ragen_starpo.engine.computing import computing_of
from ragen_starpo.recipes.recipe import recipe_of


@pytest.mark.parametrize(
    ("packing", "dtype", "device", "flash", "found"),
    [
        ("off", "bfloat16", "cuda", True, (False, "sdpa")),
        ("auto", "bfloat16", "cuda", True, (True, "flash_attention_2")),
        ("auto", "bfloat16", "cuda", False, (False, "sdpa")),
        ("auto", "float32", "cuda", True, (False, "sdpa")),
        ("auto", "bfloat16", "cpu", True, (False, "sdpa")),
        ("on", "bfloat16", "cuda", True, (True, "flash_attention_2")),
        ("on", "float32", "cuda", True, (True, "sdpa")),
        ("on", "float32", "cpu", False, (True, "sdpa")),
    ],
)
def test_packing_is_automatic_where_flash_attention_is(
    monkeypatch, packing, dtype, device, flash, found
):
    monkeypatch.setattr(computing, "_has_flash_attention", lambda: flash)
    cluster = {"packing": packing, "dtype": dtype}
    recipe = recipe_of({"model": "m", "envs": ["Bandit-v0"], "cluster": cluster}, "a test")
    settled = computing_of(recipe, device)
    assert (settled.packing, settled.attention) == found
    assert (settled.dtype, settled.tokens) == (dtype, None)
