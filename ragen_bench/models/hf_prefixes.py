"""Common beginnings of prompts, and the row of keys and values that each prompt continues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Ids = Sequence[int]
Common = Callable[[Ids, Ids], int]
"""How many tokens two sequences have in common from their beginning on."""
_CHUNK = 64
_WORTH_A_STEP = 32
"""A prompt waits a step for another one if that saves reading so many tokens."""


def shared(first: Ids, second: Ids) -> int:
    """Return how many tokens two sequences have in common from their beginning on."""
    start, end = 0, min(len(first), len(second))
    while start < end and first[start : start + _CHUNK] == second[start : start + _CHUNK]:
        start += _CHUNK
    while start < end and first[start] == second[start]:
        start += 1
    return min(start, end)


def nothing(_first: Ids, _second: Ids) -> int:
    """Return 0: nothing that was read counts as known."""
    return 0


def longest(
    prompt: Ids, held: Sequence[Ids], common: Common, favourite: int = 0
) -> tuple[int, int]:
    """Return how many tokens of a prompt are held at most, and by which row.

    Args:
        prompt: at least one token.
        held: what the rows hold.
        common: how common beginnings are counted.
        favourite: the row that counts where several hold as many; after it the first one does.
    """
    most, best = common(prompt, held[favourite]) if held else 0, favourite
    for row, ids in enumerate(held):
        # Only a row with the next token too can hold more; most rows fail this quick test.
        if most < min(len(ids), len(prompt)) and ids[most] == prompt[most]:
            count = common(prompt, ids)
            if count > most:
                most, best = count, row
    return most, best


def ready(prompts: Sequence[Ids], held: Sequence[Ids], common: Common, budget: int) -> list[int]:
    """Return the numbers of the prompts to be read now; at least one.

    A prompt waits if it begins like one that is read now, whose keys and values it can have in the
    next step, and if the step has enough to read without it.

    Args:
        prompts: what waits, in order.
        held: what the rows hold.
        common: how common beginnings are counted.
        budget: tokens to read in one step.
    """
    now: list[int] = []
    for number, prompt in enumerate(prompts):
        there, _ = longest(prompt, held, common)
        coming, _ = longest(prompt, [prompts[other] for other in now], common)
        budget -= len(prompt) - there
        if now and budget < 0:
            break
        if coming < there + _WORTH_A_STEP:
            now.append(number)
    return now


def assign(prompts: Sequence[Ids], free: Mapping[int, Ids], common: Common) -> list[int]:
    """Return a row for each prompt: the longest common beginnings first, then by order.

    Args:
        prompts: no more than there are free rows.
        free: what the free rows hold.
        common: how common beginnings are counted.
    """
    pairs = sorted(
        (-common(prompt, ids), number, row)
        for number, prompt in enumerate(prompts)
        for row, ids in free.items()
    )
    rows: dict[int, int] = {}
    for _, number, row in pairs:
        if number not in rows and row not in rows.values():
            rows[number] = row
    return [rows[number] for number in range(len(prompts))]
