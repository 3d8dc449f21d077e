"""verifiers' own commands, and their traces against plain Gymnasium on the same answers."""

import json
import re
import shlex

import pytest

from tests.ragen_bench.models.api.hosted import Hosted, running
from tests.ragen_envs.integrations.conversations import play
from tests.ragen_envs.integrations.verifiers.place import NEEDS_VERIFIERS, ROOT, driver, run

pytestmark = [pytest.mark.slow, NEEDS_VERIFIERS]
LAKE = "ragen/FrozenLake-v0"
INSTANCES, ROLLOUTS = 4, 3
PAGE = (ROOT / "docs" / "verifiers.md").read_text(encoding="utf-8")
VALIDATE, EVAL = (
    [*shlex.split(line), "--no-rich", "-o", "out", "--run.name", "run"]
    for line in re.findall(r"^vf-\w+ ragen-verifiers.*", PAGE, re.MULTILINE)
)
"""The commands that the docs show."""


def with_url(command, url):
    return [url if word.startswith("http:") else word for word in command]


def test_the_examples_of_the_docs_print_what_they_show():
    examples = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == PAGE.count("```python") == 2
    for code, shown in examples:
        assert driver().ask(code=code) == shown


@pytest.fixture(scope="module")
def played():
    """What plain Gymnasium makes of the answers: by conversation, and by task."""
    return play(LAKE, "test", INSTANCES, ROLLOUTS)


def test_an_evaluation_gives_the_rewards_of_gymnasium(played, tmp_path):
    answers, episodes = played

    class Player(Hosted):
        def reply(self, body):
            said = {**self.said(), "created": 0, "model": body["model"]}
            said["usage"] = {**said["usage"], "total_tokens": 18}
            texts = tuple(message["content"] for message in body["messages"])
            said["choices"][0]["message"]["content"] = answers[texts]
            return 200, said

    with running(Player) as stub:
        done = run(*with_url(EVAL, stub.url), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out" / "run" / "traces.jsonl").read_text().splitlines()
    found = {}
    for line in lines:
        [trace] = json.loads(line)["traces"]
        assert trace["ok"], trace["errors"]
        data, told = trace["task"]["data"], trace["info"]["episode"]
        texts = [node["message"]["content"] for node in trace["nodes"]]
        conversation = [*texts, told["final_observation"]]
        success, score = told["success"], told["score"]
        found[data["seed"], data["rollout"]] = conversation, told["rewards"], success, score
        assert trace["rewards"]["episode_return"]["score"] == pytest.approx(sum(told["rewards"]))
        assert trace["metrics"] == {
            "success": float(success),
            "score": score,
            "turns": len(told["rewards"]),
        }
    assert len(lines) == INSTANCES * ROLLOUTS
    assert found == episodes
    assert {success for _, _, success, _ in found.values()} == {True, False}


def test_the_oracle_solves_what_is_validated(tmp_path):
    done = run(*VALIDATE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "run" / "summary.json").read_text())
    assert (summary["outcomes"]["valid"], summary["total"]) == (8, 8)
