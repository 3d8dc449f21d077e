"""Boards as pictures, from the environment to a vision model on a server and back to the record."""

import json
from pathlib import Path

import pytest

from ragen_bench import UserError
from ragen_bench.api import evaluate
from ragen_bench.cli import main
from ragen_bench.episodes.replay import Replayer
from ragen_bench.models.prompt import conversation
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.specification import spec_hash
from ragen_envs.core.boards import PICTURED
from ragen_envs.making import board_ids

from .api.hosted import running
from .api.seeing import STEPS, Seeing, pictures_in

pytestmark = pytest.mark.slow

GAMES = ["--env", "Sokoban-v0", "--env", "FrozenLakeNewVocab-v0", "--limit", "3"]
FORM = ["--format", "plain", "--pictures", "--concurrency", "1"]
PLAYS = ["evaluate", "openai/o9-mini", *GAMES, *FORM]


@pytest.fixture(scope="module")
def seeing():
    with running(Seeing) as server:
        yield server


@pytest.fixture(autouse=True)
def _place(seeing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", seeing.url)
    seeing.bodies.clear()


def asked(seeing):
    """Return the messages of each request for a turn, without the engine's own first questions."""
    conversations = [body["messages"] for body in seeing.bodies]
    return [messages for messages in conversations if messages[-1]["content"] != "-"]


def shown(run):
    """Return the board's picture before each turn of a run, by replaying it."""
    directory = read_run(run)
    replay = Replayer(directory.config)
    turns = []
    for record in directory.episodes():
        seen = []
        for episode in replay.walk(record):
            assert len(episode.request().messages[-1]["pictures"]) == 1
            seen.append(episode.env.picture())
        turns += [seen[: number + 1] for number in range(len(record.turns))]
    return turns


def test_the_model_is_sent_each_board_and_none_as_text(seeing, tmp_path):
    assert main([*PLAYS, "--out", "run"]) == 0
    conversations = asked(seeing)
    turns = shown(tmp_path / "run")
    assert len(conversations) == len(turns) > 6
    for messages, boards in zip(conversations, turns, strict=True):
        sent = [picture for message in messages for picture in pictures_in(message)]
        assert len(sent) == len(boards)
        assert all((one == other).all() for one, other in zip(sent, boards, strict=True))
        users = [m["content"] for m in messages if m["role"] == "user"][-len(boards) :]
        assert all(PICTURED in content[0]["text"] for content in users)
    assert read_run(tmp_path / "run").config.pictures
    assert main(["replay", "run"]) == 0
    # What the model answers depends on what it sees.
    still = [seeing.step(with_the_first_picture_only(messages)) for messages in conversations]
    answered = [seeing.step(messages) for messages in conversations]
    assert answered != still
    assert {*answered} <= {*STEPS}


def with_the_first_picture_only(messages):
    """Return the messages with the first picture in place of each later one."""
    first = next(m for m in messages if pictures_in(m))["content"][1]
    return [
        m if isinstance(m["content"], str) else {**m, "content": [m["content"][0], first]}
        for m in messages
    ]


def test_a_short_history_keeps_the_first_picture_with_the_rules(seeing):
    assert main([*PLAYS, "--history", "0", "--out", "run"]) == 0
    later = [messages for messages in asked(seeing) if "not shown" in str(messages)]
    assert later
    for messages in later:
        assert len(pictures_in(messages[-1])) == 2


def test_pictures_follow_their_observations():
    messages = conversation(["a", "b", "c"], ["x", "y"], "plain", 1, [b"A", b"B", b"C"])
    told = [m.get("pictures") for m in messages]
    assert told == [None, None, None, [b"A", b"B"], None, [b"C"]]
    assert not any("pictures" in m for m in conversation(["a", "b"], ["x"], "plain"))


def test_runs_with_and_without_pictures_are_apart(seeing, capsys):
    scripted = ["evaluate", "random", *GAMES, "--format", "plain"]
    assert main([*scripted, "--out", "text"]) == 0
    assert main([*scripted, "--pictures", "--out", "seen"]) == 0
    assert main([*scripted, "--out", "seen"]) == 2
    assert "pictures: true there, null here" in capsys.readouterr().err
    assert main(["compare", "text", "seen"]) == 2
    assert "pictures" in capsys.readouterr().err
    configs = [read_run(Path(name)).config for name in ("text", "seen")]
    hashes = [[env.spec_hash for env in config.envs] for config in configs]
    assert not {*hashes[0]} & {*hashes[1]}
    assert [config.as_json().get("pictures") for config in configs] == [None, True]
    records = [
        [[turn.reward for turn in episode.turns] for episode in read_run(Path(name)).episodes()]
        for name in ("text", "seen")
    ]
    assert records[0] == records[1]


def test_a_run_changed_to_pictures_is_refused(capsys):
    assert main(["evaluate", "random", *GAMES, "--format", "plain", "--out", "run"]) == 0
    file = Path("run/run.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "pictures": True}))
    assert main(["replay", "run"]) != 0
    assert "spec_hash" in capsys.readouterr().out
    assert main(["evaluate", "random", "--env", "Bandit-v0", "--limit", "2", "--out", "arms"]) == 0
    file = Path("arms/run.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "pictures": True}))
    assert main(["replay", "arms"]) == 2
    said = capsys.readouterr().err
    assert "run.json shows pictures of ragen/Bandit-v0, which has no board" in said


def test_the_specification_holds_the_pictures(monkeypatch):
    before = spec_hash("ragen/FrozenLake-v0", "test", "plain", pictured=True)
    assert before == spec_hash("ragen/FrozenLake-v0", "test", "plain", pictured=True)
    monkeypatch.setattr("ragen_envs.core.boards._EDGE", 0.84)
    from ragen_envs.core import boards

    boards._paint.cache_clear()
    try:
        assert spec_hash("ragen/FrozenLake-v0", "test", "plain", pictured=True) != before
    finally:
        boards._paint.cache_clear()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["evaluate", "openai/o9-mini", "--suite", "quick", "--pictures"],
            "ragen/Bandit-v0 has no board to show in --pictures; choose with --env "
            f"from: {', '.join(board_ids())}",
        ),
        (
            ["evaluate", "demo-agent", "--env", "Sokoban-v0", "--pictures"],
            "--pictures does not work with demo-agent; remove it, or use openai/, oracle or random",
        ),
        (
            [*PLAYS, "--format", "tools"],
            "--pictures cannot be combined with --format tools, since results of functions hold "
            "no pictures; remove one of them",
        ),
    ],
)
def test_mistakes_get_one_line(options, says, capsys):
    assert main(options) == 2
    assert capsys.readouterr().err == f"ragen-bench: {says}\n"


def test_the_call_from_python_has_the_option_too():
    run = evaluate("oracle", env="Cube-v0", limit=2, pictures=True, progress=False)
    assert run.config.pictures is True
    with pytest.raises(UserError, match="has no board"):
        evaluate("oracle", env="Bandit-v0", pictures=True, progress=False)


def test_doctor_asks_with_pictures(seeing, capsys):
    assert main(["doctor", *PLAYS[1:]]) in (0, 1)
    assert any(pictures_in(messages[-1]) for messages in asked(seeing))
