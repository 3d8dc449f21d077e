"""Vocabularies that cannot be drawn are refused."""

import pytest

from ragen_envs.games.sokoban.text import Vocabulary


@pytest.mark.parametrize("symbols", [("█", "_", "O", "X", "√", "P", "S"), ("##", *"_OX√PS")])
def test_a_symbol_is_one_character_of_ascii(symbols):
    with pytest.raises(ValueError, match="wall is one character of ASCII"):
        Vocabulary(*symbols)
