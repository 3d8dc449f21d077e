"""Retries of requests, with waits between them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ragen_bench.errors import UserError
from ragen_bench.models.api.errors import RetryableError
from ragen_bench.models.api.options import ServerOptions

_T = TypeVar("_T")
_MAX_DOUBLINGS = 64
"""More would leave the range of a float after a thousand tries."""


async def retry(
    send: Callable[[], Awaitable[_T]],
    options: ServerOptions,
    spread: float = 1.0,
    should_retry: Callable[[RetryableError], bool] = lambda _error: True,
) -> _T:
    """Return the result of `send`, after as many retries as needed and allowed by the options.

    `spread`, from 0 to 1, spreads the retries of requests that failed together; `should_retry`
    decides which failures are retried. The last failure has the number of tries.
    """
    tries = 0
    while True:
        try:
            tries += 1
            return await send_in_time(send, options.timeout)
        except RetryableError as error:
            error.tries = tries
            if tries > options.retries or not should_retry(error):
                raise
            doublings = min(tries - 1, _MAX_DOUBLINGS)
            wait = min(options.longest_wait, options.first_wait * 2**doublings)
            await asyncio.sleep(max(error.retry_after, wait * (1 + spread) / 2))


async def send_in_time(send: Callable[[], Awaitable[_T]], seconds: float) -> _T:
    """Return the result of `send`; a RetryableError says that it did not come in time."""
    try:
        async with asyncio.timeout(seconds):
            return await send()
    except TimeoutError:
        raise RetryableError(f"no answer within {seconds:g} s, see --timeout") from None


async def ask_or(
    send: Callable[[], Awaitable[str]],
    otherwise: Callable[[], Awaitable[str]],
    wants: Callable[[str], bool],
) -> tuple[str, bool]:
    """Return a reply, and whether it is to the other way of asking.

    That is tried once where `wants` finds it in the words of the first refusal, which stays the
    error if the other way is refused too.
    """
    try:
        return await send(), False
    except (UserError, RetryableError) as error:
        if not wants(str(error)):
            raise
        refusal = error
    try:
        return await otherwise(), True
    except UserError:
        raise refusal from None
