"""Trajectories: the format's own models read every file, and it tells what the run holds."""

import dataclasses
import json
from collections import Counter

import pytest
from atif import Trajectory

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.errors import UserError
from ragen_bench.export.atif import export
from ragen_bench.export.episodes import play_oracle_episodes, read_run_episodes
from ragen_bench.models import Completion, RequestFailure, resolve
from ragen_bench.models.base import CallEngine
from ragen_bench.models.prompt import FIRST, opening
from ragen_bench.runs.directory import read_run
from ragen_bench.third_party import register_environment
from ragen_envs.core.tool_calls import Call, as_text
from tests.ragen_bench.cli.command import run as command
from tests.ragen_bench.players import Player

GAMES = {"ragen/Sokoban-v0": 4, "ragen/Bandit-v0": 4, "ragen/TwentyQuestions-v0": 2}


class Talker(Player):
    """Reasons, counts tokens, and answers in form, not always."""

    def complete(self, requests, sampling):
        return [
            Completion(
                f"<answer>{request.env.legal_actions[0] if n % 2 else 'nothing'}</answer>",
                prompt_tokens=7,
                completion_tokens=n + 1,
                reasoning="Let me see \ud800." if n else "",
            )
            for n, request in enumerate(requests)
        ]


def finished(path, model, **changes):
    fields = {
        "model": "talker",
        "suite": "",
        "instances": GAMES,
        "split": "val",
        "response_format": "answer",
        "samples": 2,
        "seed": 0,
        "temperature": 1.0,
        "max_tokens": 8,
        **changes,
    }
    play_run(Evaluation(**fields), model, path).unlock()
    return read_run(path)


def read(folder):
    """Return the files as the format's models have them, in the order of their names."""
    return {
        path.name: Trajectory.model_validate_json(path.read_text(encoding="utf-8"))
        for path in sorted(folder.iterdir())
    }


@pytest.mark.parametrize(
    ("player", "response_format"),
    [(Talker(), "answer"), (Talker(), "plain"), (resolve("random"), "think")],
)
def test_a_run_is_told_turn_by_turn(tmp_path, player, response_format):
    run = finished(tmp_path / "run", player, response_format=response_format)
    assert export(read_run_episodes(run), tmp_path / "out") == 20
    found = read(tmp_path / "out")
    for record in run.episodes():
        game = record.env.partition("/")[2]
        told = found.pop(f"ragen_{game}_val_{record.index:05}_{record.sample:03}.json")
        assert told.schema_version == "ATIF-v1.8"
        assert told.trajectory_id == f"{record.env}/val/{record.index}/{record.sample}"
        assert (told.agent.name, told.agent.model_name) == ("ragen-bench", "talker")
        assert told.agent.extra["response_format"] == response_format
        as_json = record.as_json()
        assert {name: as_json.get(name) for name in told.extra} == told.extra
        assert {"success", "score", "return", "instance", "ceiling"} <= set(told.extra)
        shown = opening(response_format)
        before, turns = told.steps[: len(shown) + 1], told.steps[len(shown) + 1 :]
        assert [step.message for step in before[:-1]] == [each["content"] for each in shown]
        assert [step.source for step in before] == ["system", "user", "agent", "user"]
        assert [step.is_copied_context for step in before] == [None, True, True, None]
        assert before[-1].message == FIRST + record.turns[0].observation
        assert before[2].llm_call_count == 0
        results = [turn.observation for turn in record.turns[1:]] + [record.final_observation]
        for step, turn, result in zip(turns, record.turns, results, strict=True):
            assert (step.source, step.message) == ("agent", turn.answer)
            assert (step.reasoning_content or "") == turn.reasoning.replace("\ud800", "?")
            calls = step.tool_calls or []
            assert [call.arguments for call in calls] == [{"action": each} for each in turn.actions]
            (observed,) = step.observation.results
            assert observed.content == result
            assert observed.source_call_id == (calls[-1].tool_call_id if calls else None)
            counts = (turn.prompt_tokens, turn.completion_tokens)
            if step.metrics:
                assert (step.metrics.prompt_tokens, step.metrics.completion_tokens) == counts
            else:
                assert counts == (0, 0)
            assert step.extra["reward"] == turn.reward
            assert step.extra["format_is_valid"] == turn.format_is_valid
        total = told.final_metrics.total_completion_tokens
        assert (total or 0) == sum(turn.completion_tokens for turn in record.turns)
        assert told.final_metrics.total_steps == len(told.steps)
    assert found == {}


def test_demonstrations_are_the_oracles_on_train_instances(tmp_path):
    assert export(play_oracle_episodes({"ragen/Sokoban-v0": 3}, "answer"), tmp_path / "out") == 3
    found = read(tmp_path / "out")
    assert list(found) == [f"ragen_Sokoban-v0_train_0000{number}_000.json" for number in range(3)]
    for told in found.values():
        assert told.agent.model_name == "oracle"
        assert told.extra["success"] is True
        assert told.final_metrics.total_prompt_tokens is None


def test_estimated_tokens_are_marked(tmp_path):
    class Estimating(Talker):
        def complete(self, requests, sampling):
            return [
                dataclasses.replace(made, tokens_estimated=request.turn_id.turn == 1)
                for request, made in zip(
                    requests, super().complete(requests, sampling), strict=True
                )
            ]

    export(read_run_episodes(finished(tmp_path / "run", Estimating())), tmp_path / "out")
    for told in read(tmp_path / "out").values():
        metrics = [step.metrics for step in told.steps if step.metrics]
        marks = [one.extra for one in metrics]
        assert marks == [{"tokens_estimated": True} if n == 1 else None for n in range(len(marks))]
        assert (told.final_metrics.extra is not None) == (len(marks) > 1)


def test_what_a_model_was_not_shown_is_noted(tmp_path):
    run = finished(tmp_path / "run", resolve("random"), history=1)
    export(read_run_episodes(run), tmp_path / "out")
    for told in read(tmp_path / "out").values():
        assert told.notes.endswith("and of the later turns the last 1.")


def test_an_environment_with_a_form_of_its_own_has_no_opening(tmp_path):
    guess = register_environment("tests.ragen_bench.third_party.external_games:external/Guess-v0")
    run = finished(tmp_path / "run", resolve("random"), instances={guess: 2}, samples=1)
    assert export(read_run_episodes(run), tmp_path / "out") == 2
    for name, told in read(tmp_path / "out").items():
        assert ":" not in name
        assert [step.source for step in told.steps[:2]] == ["system", "user"]
        assert not any(step.is_copied_context for step in told.steps)


def test_a_broken_run_leaves_nothing(tmp_path):
    run = finished(tmp_path / "run", resolve("random"))
    with run.episodes_file.open("a") as file:
        file.write("{}\n")
    with pytest.raises(UserError, match="line 21"):
        export(read_run_episodes(run), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_episode_without_a_turn_has_its_first_observation_and_its_error(tmp_path):
    class Failing(Talker):
        def engine(self, sampling):
            return CallEngine(lambda requests: [self.fail(request) for request in requests])

        def fail(self, request):
            if request.key.startswith("ragen/Bandit-v0/val/0/0/"):
                return RequestFailure("asleep: HTTP 500")
            return Completion("<answer>nothing</answer>")

    run = finished(tmp_path / "run", Failing(), on_error="fail")
    export(read_run_episodes(run), tmp_path / "out")
    text = (tmp_path / "out" / "ragen_Bandit-v0_val_00000_000.json").read_text()
    trajectory = Trajectory.model_validate(json.loads(text))
    assert [step.source for step in trajectory.steps] == ["system", "user", "agent", "user"]
    assert trajectory.steps[-1].message.startswith(FIRST)
    assert trajectory.extra["outcome"] == "given_up"
    assert trajectory.extra["error"] == "asleep: HTTP 500"


def test_the_command(tmp_path):
    options = ["--env", "Bandit-v0", "--limit", "2", "--as", "atif"]
    done = command("export", "oracle", "--out", "set", *options, cwd=tmp_path)
    assert done.stdout == "2 episodes in set\n"
    told = json.loads((tmp_path / "set/ragen_Bandit-v0_train_00001_000.json").read_text())
    assert told["extra"]["index"] == 1
    done = command("export", "oracle", "--out", "other", "--as", "atiff", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "unknown --as 'atiff'; did you mean atif?" in done.stderr


class Caller(Player):
    """Calls what it may, what there is not, and nothing, by turns."""

    def complete(self, requests, sampling):
        return [Completion(self.answer(n, request.env)) for n, request in enumerate(requests)]

    def answer(self, number, env):
        known = Call("act", {"actions": [env.legal_actions[0]]})
        unknown = Call("fly", {"to": ["north", 1]})
        return [
            as_text([known], "Let me see."),
            as_text([unknown, known]),
            as_text([Call("act", "no JSON")]),
            "nothing",
        ][number % 4]


def test_calls_of_the_form_tools_are_those_of_the_answer(tmp_path):
    run = finished(tmp_path / "run", Caller(), response_format="tools")
    export(read_run_episodes(run), tmp_path / "out")
    found = read(tmp_path / "out")
    seen = Counter()
    for record in run.episodes():
        game = record.env.partition("/")[2]
        told = found[f"ragen_{game}_val_{record.index:05}_{record.sample:03}.json"]
        for step, turn in zip(told.steps[2:], record.turns, strict=True):
            calls = [(each.function_name, each.arguments) for each in step.tool_calls or ()]
            names = [each.tool_call_id for each in step.tool_calls or ()]
            assert len(set(names)) == len(names)
            if calls:
                written = as_text([Call(*each) for each in calls], step.message)
                assert written == turn.answer
                assert step.observation.results[0].source_call_id == names[-1]
            else:
                assert step.message == turn.answer
            seen[tuple(name for name, _ in calls)] += 1
    assert set(seen) == {("act",), ("fly", "act"), ()}
