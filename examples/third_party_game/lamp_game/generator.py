"""Random instances of Lamps."""

from __future__ import annotations

from collections.abc import Iterator

from lamp_game.rules import SIZE, Row, press
from ragen_envs.core.instances import RandomStream

MIN_PRESSES, MAX_PRESSES = 2, 6


def generate_rows(stream: RandomStream) -> Iterator[Row]:
    """Yield rows that two to six presses of different lamps switch off."""
    while True:
        state = 0
        count = MIN_PRESSES + stream.below(MAX_PRESSES - MIN_PRESSES + 1)
        for lamp in stream.sample(range(SIZE), count):
            state = press(state, lamp)
        yield Row(state)
