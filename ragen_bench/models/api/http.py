"""HTTP clients for untrusted servers: bounded responses, and no redirect to another server."""

from __future__ import annotations

from typing import Any

_MAX_BYTES = 1 << 24
"""Of an unpacked response; the longest completion and list of models are far smaller."""
_MAX_REDIRECTS = 5
_ENCODINGS = ("gzip", "deflate")
"""Accepted encodings. They expand a thousandfold at most; others without a bound."""
_ENCODING_HEADERS = {b"content-encoding", b"transfer-encoding", b"content-length"}


class RejectedResponseError(Exception):
    """A response that is not accepted."""


class RedirectError(RejectedResponseError):
    """A redirect to another server, which must get no key and no conversation."""


class OversizedError(RejectedResponseError):
    """A response larger than the limit, or packed so that it could be."""


class _BoundedClient:
    """Mixed into an asynchronous client of httpx; see `make_client`."""

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request, follow redirects on the same server, and return the whole response."""
        options |= {"stream": True, "follow_redirects": False}
        for _ in range(_MAX_REDIRECTS):
            response = await super().send(request, **options)  # type: ignore[misc]
            redirected = response.next_request
            if redirected is None:
                return await _read_whole(response)
            await response.aclose()
            if _origin(redirected.url) != _origin(request.url):
                raise RedirectError(
                    f"sends requests on to {_origin(redirected.url)}; if you trust that server, "
                    "give its address as the base URL"
                )
            request = redirected
        raise RedirectError("sends requests on again and again; correct the base URL")


def make_client(kind: type[Any], **options: Any) -> Any:
    """Return a bounded client of a kind: `httpx.AsyncClient`, of any version, or a subclass."""
    bounded = type("BoundedClient", (_BoundedClient, kind), {})
    return bounded(headers={"Accept-Encoding": ", ".join(_ENCODINGS)}, **options)


def find_rejection(error: BaseException | None) -> RejectedResponseError | None:
    """Return the rejected response that caused a library's error; None if there is none."""
    while error is not None:
        if isinstance(error, RejectedResponseError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _origin(url: Any) -> str:
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme}://{url.host}{port}"


async def _read_whole(response: Any) -> Any:
    """Return a response that is read and unpacked."""
    content = bytearray()
    try:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in (*_ENCODINGS, "identity", ""):
            raise OversizedError(f"the server packed its reply as {encoding[:20]!r}, unasked")
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > _MAX_BYTES:
                raise OversizedError(f"the server sent more than {_MAX_BYTES >> 20} MiB")
    finally:
        await response.aclose()
    headers = [
        (name, text) for name, text in response.headers.raw if name.lower() not in _ENCODING_HEADERS
    ]
    return type(response)(
        response.status_code,
        headers=headers,
        content=bytes(content),
        request=response.request,
        extensions=response.extensions,
    )
