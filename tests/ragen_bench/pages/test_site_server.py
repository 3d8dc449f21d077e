"""A site that is served here is for this machine alone, whatever name a page gives it."""

import http.client
import os
import random
import socket
import threading

import pytest

from ragen_bench.pages.local_server import SiteServer


@pytest.fixture
def server(tmp_path):
    (tmp_path / "index.html").write_text("a site")
    with SiteServer(tmp_path, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def status(server, host, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    connection.putrequest(method, "/index.html", skip_host=True)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    assert (b"a site" in body) == (reply.status == 200 and method == "GET")
    return reply.status


def answer(server, request):
    """Return the first line of the reply to the bytes of a request."""
    with socket.create_connection(server.server_address[:2], timeout=60) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(1 << 16), b"")).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/%00",
            "/a%00b/",
            "/%ff",
            "/%",
            "/..%2f..%2fetc/passwd",
            "/" + "a" * 5000,
            "//",
            "/pipe",
        ),
        *("/index.html/x", "http://other/", "*", "?", "/%ud800", "/%E2%82"),
    ],
)
def test_any_path_gets_a_reply(server, tmp_path, path, capfd):
    os.mkfifo(tmp_path / "pipe")
    for method in ("GET", "HEAD"):
        request = f"{method} {path} HTTP/1.0\r\nHost: localhost\r\n\r\n"
        assert answer(server, request.encode()).startswith(b"HTTP/1.0 ")
    assert capfd.readouterr().err == ""


def test_malformed_requests_get_a_reply(server, capfd):
    rng = random.Random(7)
    bytes_of_paths = [code for code in range(1, 256) if code not in b"\t\n\v\f\r "]
    for _ in range(200):
        path = bytes(rng.choices(bytes_of_paths, k=rng.randrange(1, 30)))
        request = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path
        assert answer(server, request).startswith(b"HTTP/1.0 "), path
    for head in (
        b"GET\r\n\r\n",
        b"X / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/9.9.9\r\n\r\n",
    ):
        assert answer(server, head)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost:8000", "[::1]:80"])
def test_names_of_this_machine(server, host):
    assert status(server, host) == 200
    assert status(server, f"127.0.0.1:{server.server_port}", "HEAD") == 200


@pytest.mark.parametrize(
    "host",
    [
        *("rebound.example", "rebound.example:80", "127.0.0.1.rebound.example", "localhost.", ""),
        *("127.0.0.1@rebound.example", "127.0.0.1:80:80", "0.0.0.0", "localhostx", None),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_other_names_get_nothing(server, host, method):
    assert status(server, host, method) == 421
