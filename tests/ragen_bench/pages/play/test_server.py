"""Playing by HTTP, as the page does it, and as it never would."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from ragen_envs import IDS
from tests.waiting import wait_until

from .conftest import Client
from .support import made, oracle_episode


@pytest.mark.parametrize("env", IDS)
def test_the_oracle_by_http_is_the_oracle(served, env):
    observations, answers, rewards, info = oracle_episode(env, 3, 1)
    client = Client(served(env, 3, 1))
    state = client.state()
    for number, answer in enumerate(answers):
        assert state["end"] is None
        assert state["observation"] == observations[number]
        status, state = client.answer(state, answer)
        assert status == 200
    assert state["observation"] == observations[-1]
    assert [turn["observation"] for turn in state["turns"]] == observations[:-1]
    assert [turn["answer"] for turn in state["turns"]] == answers
    assert [turn["reward"] for turn in state["turns"]] == rewards
    assert state["total"] == pytest.approx(sum(rewards))
    assert state["end"]["score"] == info["score"]
    assert [turn["answer"] for turn in state["end"]["oracle"]] == answers
    assert state["end"]["oracle_total"] == state["total"]


def test_what_is_told_of_a_running_episode(served):
    state = Client(served("FrozenLakeLarge-v0", 300, 2)).state()
    env = made("ragen/FrozenLakeLarge-v0")
    first, _ = env.reset(seed=300, options={"noise_seed": 2})
    assert state == {
        "game": 1,
        "env": "ragen/FrozenLakeLarge-v0",
        "split": "test",
        "index": 300 - 256,
        "noise_seed": 2,
        "turns": [],
        "observation": first,
        "max_turns": 10,
        "turns_left": 10,
        "actions_left": 30,
        "actions_this_turn": 3,
        "several": True,
        "total": 0,
        "legal": list(env.legal_actions),
        "free": None,
        "separator": "||",
        "end": None,
    }


def test_words_of_ones_own_are_offered_where_the_game_takes_them(served):
    client = Client(served("WebShop-v0"))
    state = client.state()
    assert state["free"] == {"before": "search[", "after": "]", "longest": 300}
    assert state["several"] is False
    _, state = client.answer(state, "search[lunch box]")
    assert state["free"] is None
    assert "click[back to search]" in state["legal"]


def test_any_text_is_an_answer(served):
    client = Client(served("WebShop-v0"))
    state = client.state()
    for answer in ("", "<script>alert(1)</script>", "\ud800\0√", "x" * 90_000):
        status, state = client.answer(state, answer)
        assert status == 200
        assert state["turns"][-1]["answer"] == answer


def test_a_second_tab_cannot_answer_a_turn_that_is_over(served):
    client = Client(served("Sokoban-v0"))
    first = client.state()
    _, now = client.answer(first, "Up")
    status, said = client.answer(first, "Down")
    assert status == 409
    assert said["error"] == "the episode has gone on in another tab; this is where it is now"
    assert said["state"] == now == client.state()


def test_of_answers_at_once_one_counts(served):
    server = served("SokobanLarge-v0")
    client = Client(server)
    first, play = client.state(), server.episode.play
    sent = []

    def once_all_are_sent(answer):
        wait_until(lambda: len(sent) == 8)
        play(answer)

    def answer(tab):
        sent.append(tab)
        return client.answer(first, "Up")[0]

    server.episode.play = once_all_are_sent
    with ThreadPoolExecutor(8) as tabs:
        found = list(tabs.map(answer, range(8)))
    assert sorted(found) == [200] + [409] * 7
    assert len(client.state()["turns"]) == 1


def test_nothing_is_answered_after_the_end(served):
    client = Client(served("Bandit-v0"))
    _, over = client.answer(client.state(), "no arm")
    assert over["end"]["verdict"] == "Lost"
    status, said = client.answer(over, "again")
    assert (status, said["error"]) == (409, "the episode is over; begin another one")
    assert said["state"] == over == client.state()


def test_the_same_again_and_the_next_instance(served):
    client = Client(served("Sokoban-v0", 255))
    first = client.state()
    client.answer(first, "Up")
    status, again = client.start(first, following=False)
    assert status == 200
    assert again == {**first, "game": 2}
    status, following = client.start(again, following=True)
    assert (status, following["index"], following["game"]) == (200, 0, 3)
    assert following["observation"] == made("ragen/Sokoban-v0").reset(seed=0)[0]
    status, said = client.start(again, following=True)
    assert (status, said["state"]) == (409, following)
    assert said["error"] == "another episode was begun in another tab; this is it"
    # An answer to an episode that was left is none to the next one, though both are at turn 0.
    assert client.answer(first, "Up")[0] == 409
    assert client.state() == following


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("answer", []),
        ("answer", {"game": 1, "turn": 0}),
        ("answer", {"game": 1, "turn": 0, "answer": 1}),
        ("answer", {"game": True, "turn": 0, "answer": "Up"}),
        ("answer", {"game": 1, "turn": 0.0, "answer": "Up"}),
        ("answer", {"game": 1, "turn": 0, "answer": "Up", "more": 1}),
        ("start", {"game": 1, "next": 1}),
        ("start", {"game": 1}),
        ("start", "next"),
    ],
)
def test_what_is_no_message(served, place, said):
    client = Client(served("Sokoban-v0"))
    before = client.state()
    status, reply = client.ask(place, said)
    assert status == 400
    assert reply["error"].startswith({"answer": "an answer is {", "start": "a start is {"}[place])
    assert client.state() == before


def test_there_is_nothing_else(served):
    client = Client(served("Bandit-v0"))
    for place in ("../episode.py", "page/page.html", "state/", "answer", "%2e%2e/episode.py", "x"):
        assert client.ask(place) == (404, {"error": "there is nothing here"})
    assert client.ask("state", {})[0] == 404
