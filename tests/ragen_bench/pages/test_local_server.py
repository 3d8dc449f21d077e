"""What a page's server does with requests, whatever they are."""

import http.client
import json
import socket
from http import HTTPStatus

import pytest

from ragen_bench.errors import UserError
from ragen_bench.pages.local_server import (
    MAX_REQUEST_BYTES,
    PageServer,
    RefusedError,
    not_found,
)
from tests.ragen_bench.pages.serving import serving


class Echo(PageServer):
    def get(self, place):
        if place != "state":
            raise not_found()
        return {"alone": self.lock.locked()}

    def post(self, place, message):
        if place == "state":
            return {"alone": self.lock.locked()}
        if message == "no":
            raise RefusedError(HTTPStatus.CONFLICT, "not now", due=3)
        return {"place": place, "message": message}


@pytest.fixture
def server(tmp_path):
    (tmp_path / "page.html").write_text("√", encoding="utf-8")
    with serving(Echo(tmp_path)) as served:
        yield served


def ask(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request(method, path, body, headers)
    reply = connection.getresponse()
    content = reply.read()
    connection.close()
    return reply, content


def post(server, body, **headers):
    reply, content = ask(server, "POST", f"/{server.word}/x", body, **headers)
    return reply.status, json.loads(content)


def test_only_the_loopback_address_is_served_and_only_below_the_word(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.server_port}/{server.word}/"
    assert len(server.word) >= 20
    reply, content = ask(server, "GET", f"/{server.word}/")
    assert (reply.status, content.decode()) == (200, "√")
    for path in ("/", "/x/", f"/{server.word}", f"/{server.word}/x", f"/a/{server.word}/"):
        for method in ("GET", "POST"):
            if (method, path) != ("POST", f"/{server.word}/x"):
                reply, content = ask(server, method, path, "{}" if method == "POST" else None)
                assert (reply.status, json.loads(content)) == (
                    404,
                    {"error": "there is nothing here"},
                )


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "rebound.example"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "https://rebound.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
        ({}, 200),
    ],
)
def test_other_pages_get_nothing_even_with_the_word(server, headers, status):
    for method, body in (("GET", None), ("POST", "1")):
        reply, _ = ask(server, method, f"/{server.word}/state", body, **headers)
        assert reply.status == status


def test_no_two_servers_share_a_word(server, tmp_path):
    with Echo(tmp_path) as other:
        assert other.word != server.word


def test_a_reply_may_be_kept_by_nobody_and_asks_nothing_of_a_network(server):
    reply, _ = ask(server, "GET", f"/{server.word}/")
    assert reply.headers["Cache-Control"] == "no-store"
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    policy = dict(
        part.split(" ", 1) for part in reply.headers["Content-Security-Policy"].split("; ")
    )
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"


def test_a_page_is_never_shown_while_a_message_changes_it(server):
    for method, body in (("GET", None), ("POST", "0")):
        _, content = ask(server, method, f"/{server.word}/state", body)
        assert json.loads(content) == {"alone": True}


def test_what_is_said_and_what_is_refused(server):
    odd = {"a": "√ \ud800 <b>"}
    assert post(server, json.dumps(odd)) == (200, {"place": "x", "message": odd})
    assert post(server, '"no"') == (409, {"error": "not now", "due": 3})


NO_JSON = {
    "nothing": b"",
    "a word": b"up",
    "a half": b"{",
    "no text": b"\xff\xfe\x00",
    "deep": b"[" * 50_000,
    "a long number": b"9" * 9_000,
}


@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_json(server, body):
    assert post(server, body) == (400, {"error": "the request is not JSON"})


def test_a_long_request_is_refused_when_all_of_it_was_sent(server):
    fits = json.dumps("x" * (MAX_REQUEST_BYTES - 2))
    assert post(server, fits)[0] == 200
    for length in (MAX_REQUEST_BYTES + 1, 5_000_000):
        status, said = post(server, b"x" * length)
        assert status == 413
        assert said["error"] == f"a request has at most 100,000 bytes, and this one {length:,}"


@pytest.mark.parametrize(
    "length",
    ["-1", "x", "", "9" * 5000, "1" + "0" * 15],
    ids=["-1", "x", "", "5000 digits", "1e15"],
)
def test_a_length_that_is_none(server, length):
    with socket.create_connection(server.server_address[:2], timeout=60) as connection:
        head = f"POST /{server.word}/x HTTP/1.0\r\nContent-Length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(1000).startswith(b"HTTP/1.0 411 ")


def test_a_tab_that_closes_early_says_nothing(server, capfd):
    for _ in range(3):
        connection = socket.create_connection(server.server_address[:2])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.sendall(f"POST /{server.word}/x HTTP/1.0\r\nContent-Length: 9\r\n\r\n".encode())
        connection.close()
    assert ask(server, "GET", f"/{server.word}/")[0].status == 200
    assert capfd.readouterr().err == ""


def test_ports(server, tmp_path):
    with pytest.raises(UserError, match=rf"port {server.server_port} is not available .*--port"):
        Echo(tmp_path, server.server_port)
    for port in (-1, 65536):
        with pytest.raises(UserError, match=f"--port is between 0 and 65535, got {port}"):
            Echo(tmp_path, port)
