"""HTTP clients that trust no server: replies of bounded size, and no redirect to another one."""

from __future__ import annotations

from typing import Any

_MOST_BYTES = 1 << 24
"""Of a reply, unpacked: many times what the longest answer and the longest list of models have."""
_MOST_REDIRECTS = 5
_ENCODINGS = ("gzip", "deflate")
"""What is asked for. They unpack to a thousand times their size at most; others know no bound."""
_PACKED = {b"content-encoding", b"transfer-encoding", b"content-length"}


class RejectedReplyError(Exception):
    """A reply that is not taken."""


class RedirectedError(RejectedReplyError):
    """A server sends a request on to another one, which was given no key and no conversation."""


class OversizedError(RejectedReplyError):
    """A reply is larger than any that is read, or packed so that it could be."""


class Bounded:
    """What an asynchronous client of httpx is mixed with; see `bounded`."""

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request, follow redirects on the same server, and return the whole reply.

        Raises:
            RedirectedError: if it is sent on to another server, or again and again.
            OversizedError: if the reply is too large.
        """
        options |= {"stream": True, "follow_redirects": False}
        for _ in range(_MOST_REDIRECTS):
            reply = await super().send(request, **options)  # type: ignore[misc]
            following = reply.next_request
            if following is None:
                return await _whole(reply)
            await reply.aclose()
            if _origin(following.url) != _origin(request.url):
                raise RedirectedError(
                    f"sends requests on to {_origin(following.url)}; if you trust that server, "
                    "give its address as the base URL"
                )
            request = following
        raise RedirectedError("sends requests on again and again; correct the base URL")


def bounded(kind: type[Any], **options: Any) -> Any:
    """Return a client that is bounded.

    Args:
        kind: `httpx.AsyncClient` or a subclass of it, also of another version of the library.
        options: of the client.
    """
    made = type("BoundedClient", (Bounded, kind), {})
    return made(headers={"Accept-Encoding": ", ".join(_ENCODINGS)}, **options)


def rejection(error: BaseException | None) -> RejectedReplyError | None:
    """Return why a reply was not taken, if an error of a library comes from that."""
    while error is not None:
        if isinstance(error, RejectedReplyError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _origin(url: Any) -> str:
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme}://{url.host}{port}"


async def _whole(reply: Any) -> Any:
    """Return a reply that is read and unpacked."""
    content = bytearray()
    try:
        encoding = reply.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in (*_ENCODINGS, "identity", ""):
            raise OversizedError(f"the server packed its reply as {encoding[:20]!r}, unasked")
        async for chunk in reply.aiter_bytes():
            content += chunk
            if len(content) > _MOST_BYTES:
                raise OversizedError(f"the server sent more than {_MOST_BYTES >> 20} MiB")
    finally:
        await reply.aclose()
    headers = [(name, text) for name, text in reply.headers.raw if name.lower() not in _PACKED]
    return type(reply)(
        reply.status_code,
        headers=headers,
        content=bytes(content),
        request=reply.request,
        extensions=reply.extensions,
    )
