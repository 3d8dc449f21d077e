"""The event loop next to a caller's."""

import pytest

from ragen_bench.models.async_engine import BackgroundLoop


def test_a_coroutine_that_would_wait_for_itself_is_refused():
    loop = BackgroundLoop()

    async def inner():
        return 1

    async def outer():
        return loop.run(inner())

    assert loop.run(inner()) == 1
    with pytest.raises(RuntimeError, match="would wait for itself"):
        loop.start(outer()).result(60)
