"""A page that is served, a client without a browser, and a real browser."""

import http.client
import json
from contextlib import ExitStack, contextmanager
from threading import Thread

import pytest
from playwright.sync_api import expect

from ragen_bench.pages.play import choose_episode
from ragen_bench.pages.play.server import PlayServer
from tests.ragen_bench.pages.report.browser import PATIENCE, launched


@contextmanager
def serving(played):
    with PlayServer(played) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def served():
    """Serves an episode until the test's end."""
    with ExitStack() as servers:
        yield lambda env, seed=0, rollout=0, split="test": servers.enter_context(
            serving(choose_episode(env, split, seed, rollout))
        )


class Client:
    """Talks to a server as the page does."""

    def __init__(self, server):
        self.server = server

    def ask(self, place, content=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=20)
        body = None if content is None else json.dumps(content)
        method = "GET" if body is None else "POST"
        connection.request(method, f"/{self.server.word}/{place}", body)
        reply = connection.getresponse()
        said = json.loads(reply.read())
        connection.close()
        return reply.status, said

    def state(self):
        return self.ask("state")[1]

    def answer(self, state, answer):
        turn = len(state["turns"])
        return self.ask("answer", {"game": state["game"], "turn": turn, "answer": answer})

    def start(self, state, following):
        return self.ask("start", {"game": state["game"], "next": following})


@pytest.fixture(scope="package")
def browser():
    with launched() as chromium:
        yield chromium


@pytest.fixture
def visit(browser):
    """Opens a server's page; after the test, what went wrong in any page fails it."""
    with ExitStack() as pages:
        yield lambda server, **options: pages.enter_context(_watched(browser, server, options))


@contextmanager
def _watched(browser, server, options):
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
    context.set_default_timeout(PATIENCE)
    asked, wrong = [], []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    # A refusal is told by the page, and by the browser too.
    page.on("console", lambda said: "409" in said.text or wrong.append(said.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    page.goto(server.url)
    expect(page.locator("#turn")).to_contain_text("urn")
    yield page
    context.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith(server.url)] == []
