"""A site that is served here is for this machine alone, whatever name a page gives it."""

import http.client
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
