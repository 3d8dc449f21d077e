"""Retries: how often and when a request that failed is sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ragen_bench.models.api.faults import PassingError
from ragen_bench.models.api.options import ServerOptions

_T = TypeVar("_T")
_MOST_DOUBLINGS = 64
"""More would leave the range of a float after a thousand tries."""


async def with_retries(
    send: Callable[[], Awaitable[_T]],
    options: ServerOptions,
    spread: float = 1.0,
    may_pass: Callable[[PassingError], bool] = lambda _error: True,
) -> _T:
    """Return what `send` returns, after as many retries as are needed and allowed.

    Args:
        send: one try; it raises a PassingError if another may succeed.
        options: how long a try may take, how many retries there are and how long the waits.
        spread: from 0 to 1; requests that failed together should not come back together.
        may_pass: which failures are worth a retry.

    Raises:
        PassingError: the last one; its `tries` says how many there were.
    """
    tries = 0
    while True:
        try:
            tries += 1
            return await _in_time(send, options.timeout)
        except PassingError as error:
            error.tries = tries
            if tries > options.retries or not may_pass(error):
                raise
            doublings = min(tries - 1, _MOST_DOUBLINGS)
            wait = min(options.longest_wait, options.first_wait * 2**doublings)
            await asyncio.sleep(max(error.wait, wait * (1 + spread) / 2))


async def _in_time(send: Callable[[], Awaitable[_T]], seconds: float) -> _T:
    try:
        async with asyncio.timeout(seconds):
            return await send()
    except TimeoutError:
        raise PassingError(f"no answer within {seconds:g} s, see --timeout") from None
