"""A page that is served, a client without a browser, and the page in a browser."""

import http.client
import json
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from ragen_bench.pages.play.episode import choose_episode
from ragen_bench.pages.play.server import PlayServer
from tests.ragen_bench.pages.browser import watched
from tests.ragen_bench.pages.serving import serving


@pytest.fixture
def served():
    """Serves an episode until the test's end."""
    with ExitStack() as servers:
        yield lambda env, seed=0, noise_seed=0, split="test": servers.enter_context(
            serving(PlayServer(choose_episode(env, split, seed, noise_seed)))
        )


class Client:
    """Talks to a server as the page does."""

    def __init__(self, server):
        self.server = server

    def ask(self, place, message=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=60)
        body = None if message is None else json.dumps(message)
        method = "GET" if body is None else "POST"
        connection.request(method, f"/{self.server.word}/{place}", body)
        reply = connection.getresponse()
        content = json.loads(reply.read())
        connection.close()
        return reply.status, content

    def state(self):
        return self.ask("state")[1]

    def answer(self, state, answer):
        turn = len(state["turns"])
        return self.ask("answer", {"game": state["game"], "turn": turn, "answer": answer})

    def start(self, state, following):
        return self.ask("start", {"game": state["game"], "next": following})


@pytest.fixture
def visit(browser):
    """Opens a server's page; after the test, what went wrong in any page fails it."""
    with ExitStack() as pages:

        def opened(server, **options):
            def asks_the_server_alone(requests):
                return all(request.url.startswith(server.url) for request in requests)

            # A refusal is told by the page, and by the browser too.
            page = pages.enter_context(
                watched(browser, asks_the_server_alone, lambda message: "409" in message, **options)
            )
            page.goto(server.url)
            expect(page.locator("#turn")).to_contain_text("urn")
            return page

        yield opened
