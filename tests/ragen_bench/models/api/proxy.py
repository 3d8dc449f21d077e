"""Stands between the client and a real server, counts the tries and breaks some of them."""

import contextlib
import http.client
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from . import hosted

JSON = {"Content-Type": "application/json"}


class Proxy:
    """Forwards to a server, which is not asked twice for the same: it would say the same.

    Attributes:
        plan: the faults of the next requests for answers, in order; None for none.
        then: the fault of all requests after them.
        listing: the fault of requests for the list of models.
        bodies: what was asked, a try each.
        times: when, in seconds.
        keys: the keys that came with any request.
    """

    def __init__(self, target):
        self.target = urlsplit(target)
        self.listening = None
        self.port = 0
        self.lock = threading.Lock()
        self.known = {}
        self.up()
        self.port = self.listening.server_address[1]
        self.reset()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}{self.target.path}"

    def reset(self):
        self.plan, self.bodies, self.times = [], [], []
        self.then = self.listing = None
        self.keys = set()

    def up(self):
        """Listen, on the same port as before."""
        self.listening = _Listening(("127.0.0.1", self.port), _Handler)
        self.listening.proxy = self
        threading.Thread(target=self.listening.serve_forever, args=(0.02,), daemon=True).start()

    def down(self):
        """Refuse connections from now on."""
        self.listening.shutdown()
        self.listening.server_close()

    def next_fault(self, body):
        with self.lock:
            self.bodies.append(json.loads(body))
            self.times.append(time.monotonic())
            return self.plan.pop(0) if self.plan else self.then


class _Listening(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Say nothing of clients that did not wait for the end."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.proxy.keys.add(self.headers["Authorization"])
        (self.server.proxy.listing or forward)(self, None)

    def do_POST(self):
        self.server.proxy.keys.add(self.headers["Authorization"])
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_question = self.path.endswith("/completions") and not hosted.is_probe(json.loads(body))
        ((is_question and self.server.proxy.next_fault(body)) or forward)(self, body)

    def send(self, status, headers, content, sent=None):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(content)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content[:sent])

    def upstream(self, body):
        known = self.server.proxy.known
        if body is None or not self.path.endswith("/completions"):
            return self.asked(body)
        if body not in known:
            known[body] = self.asked(body)
        return known[body]

    def asked(self, body):
        target = self.server.proxy.target
        connection = http.client.HTTPConnection(target.netloc, timeout=120)
        headers = {**JSON, "Authorization": self.headers["Authorization"]}
        connection.request(self.command, self.path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read()

    def log_message(self, *arguments):
        pass


# Faults: what a request gets in place of the server's reply.


def forward(handler, body):
    status, content = handler.upstream(body)
    handler.send(status, JSON, content)


def says(content, status=200, **headers):
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, body: handler.send(status, {**JSON, **headers}, content)


def echoes_the_key(handler, body):
    words = f"no {handler.headers['Authorization']} here"
    handler.send(400, JSON, json.dumps({"error": {"message": words}}).encode())


def hangs_up(handler, body):
    handler.connection.close()


def cut(handler, body):
    status, content = handler.upstream(body)
    handler.send(status, JSON, content, sent=len(content) // 2)


def changed(change):
    """Forward, and change the reply's object."""

    def fault(handler, body):
        status, content = handler.upstream(body)
        reply = json.loads(content)
        change(reply)
        handler.send(status, JSON, json.dumps(reply).encode())

    return fault


def held(event):
    """Say nothing until an event."""

    def fault(handler, body):
        event.wait(120)
        with contextlib.suppress(OSError):
            forward(handler, body)

    return fault
