"""`evaluate --on-error` with a server that refuses one conversation, or goes away."""

import json

import pytest

from tests.ragen_bench.cli.command import run

from . import hosted

pytestmark = pytest.mark.slow


class Choosy(hosted.Hosted):
    """Fails at each conversation after the first `answered` ones, but not before the run."""

    answered, failure = 10**9, (400, {"message": "this one is not liked"})

    def reply(self, body):
        if len(body["messages"]) > 2 and not hosted.is_probe(body):
            self.answered -= 1
            if self.answered < 0:
                return self.failure[0], self.error(*self.failure)
        return super().reply(body)


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with hosted.running(Choosy) as stub:
        yield stub


@pytest.fixture
def evaluate(stub, tmp_path):
    def command(*options):
        return run(
            *("evaluate", f"openai/{hosted.NAME}", "--env", "Bandit-v0", "--limit", "4"),
            *("--base-url", stub.url, "--retries", "0", "--concurrency", "1", *options),
            cwd=tmp_path,
        )

    return command


def outcomes(tmp_path):
    [file] = tmp_path.glob("runs/*/episodes.jsonl")
    return [json.loads(line)["outcome"] for line in file.read_text().splitlines()]


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_run_whose_last_conversation_is_never_answered_can_be_completed(
    stub, evaluate, tmp_path, status
):
    stub.failure = (status, {"message": "this one is not liked"})
    stub.answered = 3
    first = evaluate()
    assert first.returncode == 1
    assert f"count in no metric (1 HTTP {status})" in " ".join(first.stdout.split())
    stub.answered = 0
    again = evaluate()  # the only request of this process is refused
    assert again.returncode == 1, again.stderr
    assert "1 could not be played" in " ".join(again.stdout.split())
    failed = evaluate("--on-error", "fail")
    assert failed.returncode == 0, failed.stderr
    assert outcomes(tmp_path)[3:] == ["given_up"]
    assert f"1 given up and failed (1 HTTP {status})" in " ".join(failed.stdout.split())
    refused = evaluate()
    assert (refused.returncode, refused.stdout) == (2, "")
    assert 'another configuration (on_error: "fail" there, null here)' in refused.stderr


def test_a_first_refusal_still_ends_a_run(stub, evaluate, tmp_path):
    stub.answered = 0
    ended = evaluate("--on-error", "fail")
    assert ended.returncode == 1
    assert "refused a request: HTTP 400 this one is not liked" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not list(tmp_path.glob("runs/*/episodes.jsonl"))


def test_a_server_that_is_down_for_all_ends_a_run_in_one_line(stub, evaluate, tmp_path):
    stub.answered, stub.failure = 1, (503, {"message": "away"})
    ended = evaluate("--on-error", "fail")
    assert ended.returncode == 1
    assert "HTTP 503 away; 2 requests in a row failed; finished episodes are kept" in ended.stderr
    assert len(outcomes(tmp_path)) == 1
