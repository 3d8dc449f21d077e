"""Data sets: what `datasets` reads back is what the run holds."""

import datasets
import pytest

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.errors import UserError
from ragen_bench.export.episodes import play_oracle_episodes, read_run_episodes
from ragen_bench.export.parquet import SCHEMA, export
from ragen_bench.models import Completion, resolve
from ragen_bench.models.prompt import conversation
from ragen_bench.run import Run
from ragen_bench.runs.directory import read_run
from ragen_bench.third_party import register_environment
from tests.ragen_bench.cli.command import run as command
from tests.ragen_bench.players import Player


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path_factory):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


def evaluation(**changes):
    fields = {
        "model": "random",
        "suite": "",
        "instances": {"ragen/FrozenLake-v0": 20, "ragen/Bandit-v0": 20},
        "split": "val",
        "response_format": "answer",
        "samples": 10,
        "seed": 0,
        "temperature": 1.0,
        "max_tokens": 8,
        **changes,
    }
    return Evaluation(**fields)


def finished(path, model, **changes):
    play_run(evaluation(**changes), model, path).unlock()
    return read_run(path)


def test_a_run_is_read_back_row_by_row(tmp_path):
    run = finished(tmp_path / "run", resolve("random"))
    assert export(read_run_episodes(run), tmp_path / "set") == 400  # more than one batch
    loaded = datasets.load_dataset(str(tmp_path / "set"))
    assert list(loaded) == ["val"]
    rows = list(loaded["val"])
    for row, record in zip(rows, (line for line, _ in run.recorded()), strict=True):
        assert list(row) == SCHEMA.names
        for name in SCHEMA.names:
            if name in record and name != "turns":
                assert row[name] == record[name], name
        for turn, recorded in zip(row["turns"], record["turns"], strict=True):
            assert turn.items() <= recorded.items()
        observations = [turn["observation"] for turn in record["turns"]]
        answers = [turn["answer"] for turn in record["turns"]]
        shown = conversation(observations, answers[:-1], "answer")
        assert row["messages"] == [*shown, {"role": "assistant", "content": answers[-1]}]
        assert (row["model"], row["response_format"]) == ("random", "answer")


class Estimating(Player):
    """Its server leaves the tokens of some answers out."""

    def complete(self, requests, sampling):
        return [
            Completion("<answer>Up</answer>", 5, 4, tokens_estimated=request.turn_id.turn == 1)
            for request in requests
        ]


def test_estimated_tokens_are_marked_where_there_are_some(tmp_path):
    run = finished(tmp_path / "run", Estimating())
    export(read_run_episodes(run), tmp_path / "set")
    rows = datasets.load_dataset(str(tmp_path / "set"))["val"]
    marked = [[turn["tokens_estimated"] for turn in row["turns"]] for row in rows]
    assert marked == [[t.tokens_estimated for t in e.turns] for e in run.episodes()]
    assert any(map(any, marked))
    assert not all(map(all, marked))
    frame = Run(run.path).to_pandas()
    assert list(frame["tokens_estimated"]) == [sum(turns) for turns in marked]
    plain = finished(tmp_path / "plain", resolve("random"))
    assert "tokens_estimated" not in Run(plain.path).to_pandas()


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_split_keeps_its_name(tmp_path, split):
    instances = {"ragen/Bandit-v0": 2}
    run = finished(tmp_path / "run", resolve("random"), split=split, samples=1, instances=instances)
    export(read_run_episodes(run), tmp_path / "set")
    assert list(datasets.load_dataset(str(tmp_path / "set"))) == [split]


def test_demonstrations_are_the_oracles_on_train_instances(tmp_path):
    instances = {"ragen/Sokoban-v0": 12, "ragen/FrozenLake-v0": 12}
    assert export(play_oracle_episodes(instances, "think"), tmp_path / "set") == 24
    rows = list(datasets.load_dataset(str(tmp_path / "set"))["train"])
    rooms = [row for row in rows if row["env"] == "ragen/Sokoban-v0"]
    assert [row["success"] for row in rooms] == [True] * 12
    assert sorted(row["index"] for row in rooms) == list(range(12))
    assert {row["split"] for row in rows} == {"train"}
    assert all(
        message["content"].startswith("<think></think><answer>")
        for row in rows
        for message in row["messages"][4:]
        if message["role"] == "assistant"
    )


def test_texts_that_parquet_cannot_hold_lose_the_one_character(tmp_path):
    class Strange(Player):
        def complete(self, requests, sampling):
            return [Completion("a\ud800b√") for _ in requests]

    instances = {"ragen/Bandit-v0": 1}
    run = finished(tmp_path / "run", Strange(), samples=1, instances=instances)
    export(read_run_episodes(run), tmp_path / "set")
    [row] = datasets.load_dataset(str(tmp_path / "set"))["val"]
    assert row["turns"][0]["answer"] == "a?b√"


def test_an_environment_with_a_form_of_its_own_has_no_opening(tmp_path):
    guess = register_environment("tests.ragen_bench.third_party.external_games:external/Guess-v0")
    run = finished(tmp_path / "run", resolve("random"), instances={guess: 2}, samples=1)
    export(read_run_episodes(run), tmp_path / "set")
    for row in datasets.load_dataset(str(tmp_path / "set"))["val"]:
        observations = [turn["observation"] for turn in row["turns"]]
        answers = [turn["answer"] for turn in row["turns"]]
        shown = conversation(observations, answers[:-1], None)
        assert row["messages"] == [*shown, {"role": "assistant", "content": answers[-1]}]


def test_a_broken_run_leaves_no_half_data_set(tmp_path):
    run = finished(tmp_path / "run", resolve("random"))
    with run.episodes_file.open("a") as file:
        file.write("{}\n")
    with pytest.raises(UserError, match="line 401"):
        export(read_run_episodes(run), tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere", "--out", "set"], "nowhere holds no run"),
        (["oracle", "--out", "set", "--limit", "0"], "--limit must be at least 1"),
        (["oracle", "--out", "set", "--env", "Chess-v0"], "unknown environment 'Chess-v0'"),
        (["run", "--out", "set", "--format", "think"], "--format is for `ragen-bench export"),
        (["oracle"], "the following arguments are required: --out"),
    ],
)
def test_a_mistake_gets_one_line(tmp_path, arguments, says):
    done = command("export", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command(tmp_path):
    options = ["--env", "Sokoban-v0", "--env", "Bandit-v0", "--limit", "3", "--format", "answer"]
    done = command("export", "oracle", "--out", "set", *options, cwd=tmp_path)
    assert done.stdout == "6 episodes in set; datasets.load_dataset('set') reads them\n"
    assert len(datasets.load_dataset(str(tmp_path / "set"))["train"]) == 6
