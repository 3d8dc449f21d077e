"""Episodes that the gateway plays through an endpoint, and the rewards that it posts."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import pytest
from atif import Trajectory

from ragen_bench.gateway.table import Table, make_settings
from ragen_bench.models.prompt import conversation
from ragen_bench.suites import EnvPool
from ragen_envs.core.policies import oracle_answer
from tests.ragen_bench.gateway.serving import Listener, ask, completion, gateway, refusal

ENV = "ragen/FrozenLake-v0"


def script(env, instance, noise_seed, split="test", response_format="plain"):
    """Return what plain Gymnasium does with the oracle: observations, answers and rewards."""
    made = gymnasium.make(env, split=split, response_format=response_format)
    observation, info = made.reset(seed=instance, options={"noise_seed": noise_seed})
    seen, answers, rewards, done = [observation], [], [], False
    while not done:
        answers.append(oracle_answer(made.unwrapped))
        observation, reward, terminated, truncated, info = made.step(answers[-1])
        seen.append(observation)
        rewards.append(reward)
        done = terminated or truncated
    return seen, answers, rewards, info["success"]


@pytest.fixture
def listener():
    """A model that knows the oracle's answers by their turn, and takes rewards at /events."""
    listeners = []

    def listen(answers=("Right",), fails=()):
        left = list(fails)

        def respond(path, body):
            if left and path.endswith(left[0][0]):
                return left.pop(0)[1], {"error": {"message": "not now"}}
            if not path.endswith("/v1/chat/completions"):
                return 200, {}
            turn = sum(message["role"] == "assistant" for message in body["messages"]) - 1
            return 200, completion(answers[turn % len(answers)])

        listeners.append(Listener(respond))
        return listeners[-1]

    yield listen
    for each in listeners:
        each.close()


@pytest.mark.parametrize("env", ["ragen/FrozenLake-v0", "ragen/Sokoban-v0", "ragen/Bandit-v0"])
def test_an_episode_is_that_of_gymnasium_and_asks_for_nothing_else(tmp_path, listener, env):
    for noise_seed in range(3):
        seen, answers, rewards, success = script(env, 5, noise_seed)
        model = listener(answers)
        with gateway(tmp_path / str(noise_seed), env) as server:
            request = {"instance": 5, "noise_seed": noise_seed, "base_url": f"{model.url}/v1"}
            status, result = ask(f"{server.url}play", {**request, "api_key": "k", "model": "m"})
        assert (status, result["outcome"] == "success", result["turns"]) == (
            200,
            success,
            len(answers),
        )
        assert (result["noise_seed"], result["posted"]) == (noise_seed, False)
        assert result["reward"] == pytest.approx(sum(rewards), abs=1e-6)
        steps = result["trajectory"]["steps"][-len(answers) :]
        assert [step["extra"]["reward"] for step in steps] == rewards
        assert [step["observation"]["results"][0]["content"] for step in steps] == seen[1:]
        Trajectory.model_validate(result["trajectory"])
        # A trainer's proxy learns from each request: there is one for each turn.
        assert [method for method, *_ in model.requests] == ["POST"] * len(answers)
        assert {authorization for _, _, authorization, _ in model.requests} == {"Bearer k"}
        for turn, body in enumerate(model.bodies("completions")):
            assert body["messages"] == conversation(seen[: turn + 1], answers[:turn], "plain")
            assert (body["temperature"], body["max_tokens"], body["model"]) == (1.0, 512, "m")


def test_the_episodes_of_an_instance_have_their_own_noise(tmp_path, listener):
    model = listener()
    request = {"instance": 7, "base_url": f"{model.url}/v1"}
    with gateway(tmp_path, ENV) as server, ThreadPoolExecutor(4) as threads:
        replies = [*threads.map(lambda _: ask(f"{server.url}play", request)[1], range(4))]
        other = ask(f"{server.url}play", {**request, "instance": 8})[1]
    assert sorted(reply["noise_seed"] for reply in replies) == [0, 1, 2, 3]
    assert {reply["trajectory"]["extra"]["instance"] for reply in replies} != {
        other["trajectory"]["extra"]["instance"]
    }
    assert len({reply["trajectory"]["extra"]["instance"] for reply in replies}) == 1
    assert other["noise_seed"] == 0
    with gateway(tmp_path, ENV) as server:  # a later start goes on
        assert ask(f"{server.url}play", request)[1]["noise_seed"] == 4


def test_the_default_noise_seed_is_the_smallest_unused_one(tmp_path, listener):
    """Named seeds count, requests without an episode do not, and a failed one keeps its own."""
    model, broken = listener(), Breaking(["Right"], after=1)
    refusing = Listener(lambda _path, _body: (401, {}))
    request = {"instance": 7, "base_url": f"{model.url}/v1"}
    failing = {**request, "base_url": f"{broken.url}/v1", "id": "e"}

    def seed(server, **named):
        return ask(f"{server.url}play", {**request, **named})[1]["noise_seed"]

    try:
        with gateway(tmp_path, ENV) as server:
            for url in ("127.0.0.1:9", f"{refusing.url}/v1"):
                refusal(ask(f"{server.url}play", {**request, "base_url": url}))
            assert [seed(server, noise_seed=2), seed(server)] == [2, 0]
            refusal(ask(f"{server.url}play", failing))  # 1
            assert seed(server) == 3
        with gateway(tmp_path, ENV) as server:
            assert [seed(server), seed(server, id="e"), seed(server)] == [4, 1, 5]
        with gateway(tmp_path, ENV) as server:
            assert seed(server) == 6
    finally:
        broken.close()
        refusing.close()


def test_a_reward_is_posted_as_an_event_and_counts_once(tmp_path, listener):
    model = listener()
    request = {
        "instance": 0,
        "base_url": f"{model.url}/v1",
        "api_key": "k",
        "reward_url": f"{model.url}/api/rollouts/r/attempt/0/events",
    }
    with gateway(tmp_path, ENV) as server:
        with ThreadPoolExecutor(4) as threads:
            replies = [*threads.map(lambda _: ask(f"{server.url}play", request), range(4))]
        assert ask(f"{server.url}results") == (
            200,
            {
                "episodes": 1,
                "given_up": 0,
                "posted": 1,
                "reward": replies[0][1]["reward"],
                "success": float(replies[0][1]["success"]),
            },
        )
    with gateway(tmp_path, ENV) as server:
        replies.append(ask(f"{server.url}play", request))
    assert all(reply == replies[0] for reply in replies)
    assert replies[0][1]["posted"] is True
    [event] = model.bodies("/events")
    result = replies[0][1]
    assert event["event_type"] == "reward"
    assert event["data"]["value"] == result["reward"]
    assert event["data"]["success"] == result["success"]
    assert event["data"]["trajectory"] == result["trajectory"]
    assert ("POST", "/api/rollouts/r/attempt/0/events", "Bearer k", event) in model.requests
    lines = [json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    assert [line.get("id", line.get("posted")) for line in lines] == [request["reward_url"]] * 2


def test_a_reward_that_was_not_taken_is_kept_and_posted_by_the_same_request(tmp_path, listener):
    model = listener(fails=[("/events", 503)])
    request = {"instance": 0, "base_url": f"{model.url}/v1", "reward_url": f"{model.url}/events"}
    with gateway(tmp_path, ENV) as server:
        status, words = refusal(ask(f"{server.url}play", request))
        turns = len(model.bodies("completions"))
        assert ask(f"{server.url}play", request)[1]["posted"] is True
    assert status == 502
    assert words == (
        f"the reward of {model.url}/events could not be posted to {model.url}/events: the server "
        "replied 503 Service Unavailable; it is kept, and the same request posts it again"
    )
    assert (len(model.bodies("completions")), len(model.bodies("/events"))) == (turns, 2)


def test_a_status_without_a_name_is_told_too(tmp_path, listener):
    model = listener(fails=[("/events", 520)])
    request = {"instance": 0, "base_url": f"{model.url}/v1", "reward_url": f"{model.url}/events"}
    with gateway(tmp_path, ENV) as server:
        status, words = refusal(ask(f"{server.url}play", request))
    assert status == 502
    assert words.endswith(
        ": the server replied 520; it is kept, and the same request posts it again"
    )


def test_an_id_is_of_one_instance(tmp_path, listener):
    model = listener()
    request = {"instance": 0, "base_url": f"{model.url}/v1", "id": "a"}
    with gateway(tmp_path, ENV) as server:
        first = ask(f"{server.url}play", request)
        assert ask(f"{server.url}play", request) == first
        other = refusal(ask(f"{server.url}play", {**request, "instance": 5}))
        noise = refusal(ask(f"{server.url}play", {**request, "noise_seed": 1}))
    with gateway(tmp_path, "ragen/Bandit-v0") as server:
        later = refusal(ask(f"{server.url}play", request))
    words = (
        "the id 'a' has an episode of ragen/FrozenLake-v0, test instance 0 with noise seed 0; "
        "choose another id"
    )
    assert other == noise == later == (400, words)


def test_environments_are_taken_one_after_the_other(tmp_path, monkeypatch):
    running, most = [], []

    def take(_pool, env, _split):
        running.append(env)
        time.sleep(0.01)
        most.append(len(running))
        running.pop()

    table = Table(make_settings(ENV, "test", "plain", out=tmp_path / "episodes.jsonl"))
    monkeypatch.setattr(EnvPool, "take", take)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: table.begin(0), range(8)))
    assert most == [1] * 8


def test_an_endpoint_that_fails_in_mid_episode_loses_no_turn(tmp_path, listener):
    _, answers, _, _ = script(ENV, 3, 0)
    model = listener(answers)
    broken = Breaking(answers, after=1)
    try:
        with gateway(tmp_path, ENV) as server:
            request = {"instance": 3, "noise_seed": 0, "base_url": f"{broken.url}/v1", "id": "e"}
            status, words = refusal(ask(f"{server.url}play", request))
            assert ask(f"{server.url}results")[1]["given_up"] == 1
            again = ask(f"{server.url}play", {**request, "base_url": f"{model.url}/v1"})
            assert ask(f"{server.url}results")[1]["given_up"] == 0
    finally:
        broken.close()
    assert status == 502
    assert words == (
        "the server gave no answer in 1 try, the last time: HTTP 500; "
        f"{tmp_path / 'episodes.jsonl'} has 1 turn of the episode, and the same request plays it "
        "anew"
    )
    line = json.loads((tmp_path / "episodes.jsonl").read_text().splitlines()[0])
    assert (line["outcome"], line["reward"], line["turns"]) == ("given_up", None, 1)
    Trajectory.model_validate(line["trajectory"])
    assert again[1]["turns"] == len(answers) > 1


class Breaking(Listener):
    """Gives some answers, then errors."""

    def __init__(self, answers, after):
        given = iter(answers[:after])

        def respond(_path, _body):
            text = next(given, None)
            return (500, {}) if text is None else (200, completion(text))

        super().__init__(respond)


PLAY = {"instance": 0, "base_url": "http://127.0.0.1:9/v1"}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"instance": 0}, "the request lacks base_url"),
        ({**PLAY, "nose_seed": 1}, 'the request has the unknown field "nose_seed"'),
        ({**PLAY, "instance": "0"}, 'the request has instance "0", which is not a whole number'),
        ({**PLAY, "noise_seed": -1}, "the request has noise_seed -1, which is below 0"),
        (
            {**PLAY, "instance": 256},
            "instance 256 is out of range; the test split of ragen/Sokoban-v0 has 0 to 255",
        ),
        (
            {**PLAY, "instance": -1},
            "instance -1 is out of range; the test split of ragen/Sokoban-v0 has 0 to 255",
        ),
        (
            {**PLAY, "base_url": "127.0.0.1:9"},
            "'127.0.0.1:9' is not the base URL of a server, such as http://127.0.0.1:8000/v1",
        ),
        (
            {**PLAY, "reward_url": "http://127.0.0.1:abc/x"},
            "reward_url 'http://127.0.0.1:abc/x' is not a URL, such as http://127.0.0.1:8000/events",
        ),
        (
            {**PLAY, "reward_url": "file:///etc/hostname"},
            "reward_url 'file:///etc/hostname' is not a URL, such as http://127.0.0.1:8000/events",
        ),
        ([], "the request is not an object"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(tmp_path, request_, words):
    with gateway(tmp_path) as server:
        assert refusal(ask(f"{server.url}play", request_)) == (400, words)
        assert not (tmp_path / "episodes.jsonl").exists()


def test_an_endpoint_that_refuses_the_key_is_named(tmp_path):
    refusing = Listener(lambda _path, _body: (401, {"error": {"message": "bad key k-secret"}}))
    try:
        with gateway(tmp_path) as server:
            request = {**PLAY, "base_url": f"{refusing.url}/v1", "api_key": "k-secret"}
            status, words = refusal(ask(f"{server.url}play", request))
    finally:
        refusing.close()
    assert status == 502
    assert words == f"{refusing.url}/v1 refuses the key of api_key (HTTP 401)"
