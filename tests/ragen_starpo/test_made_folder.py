"""What a command may write over: what it made itself."""

import json

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.cli import main
from ragen_starpo.made_folder import MadeFolder, check_place
from ragen_starpo.small_model import Shape, make_small_model
from ragen_starpo.warm_start import WarmStartSettings, warm_start
from tests.cases import first_fast

pytestmark = pytest.mark.xdist_group("verl")
BY = {"command": "test", "seed": 0, "envs": ("a",)}


def made(path, by=BY, text="made"):
    with MadeFolder(path, by).write() as draft:
        (draft / "model").write_text(text)


def interrupted(path):
    with MadeFolder(path, BY).write() as draft:
        (draft / "model").write_text("half")
        raise KeyboardInterrupt


def test_the_same_command_makes_its_folder_again(tmp_path):
    made(tmp_path / "out")
    made(tmp_path / "out", text="again")
    assert (tmp_path / "out/model").read_text() == "again"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_interruption_keeps_nothing_from_the_next_try(tmp_path):
    for text in ("first", "second"):
        with pytest.raises(KeyboardInterrupt):
            interrupted(tmp_path / "out")
        made(tmp_path / "out", text=text)
        assert (tmp_path / "out/model").read_text() == text


def test_what_another_made_is_refused(tmp_path):
    made(tmp_path / "out")
    with pytest.raises(UserError, match=r"does not make .*\(seed: recorded 0, given 1\)"):
        MadeFolder(tmp_path / "out", {**BY, "seed": 1})
    (tmp_path / "thesis").mkdir()
    MadeFolder(tmp_path / "thesis", BY)
    (tmp_path / "thesis/chapter").write_text("mine")
    for record in (None, "{", "[]"):
        if record:
            (tmp_path / "thesis/ragen-train.json").write_text(record)
        with pytest.raises(UserError, match=r"does not make .*\(no record\); choose another"):
            MadeFolder(tmp_path / "thesis", BY)
    assert (tmp_path / "thesis/chapter").read_text() == "mine"


def test_places_where_no_folder_can_be(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    for place in (".", "../" + tmp_path.name, str(tmp_path)):
        with pytest.raises(UserError, match="is the working directory; choose a folder inside it"):
            MadeFolder(tmp_path / place, BY)
    for place in ("file", "file/deep/er"):
        with pytest.raises(UserError, match="file is a file; choose a folder"):
            check_place(tmp_path / place)
    assert check_place(tmp_path / "deep/er") is check_place(tmp_path) is None
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_commands_that_make_models(small, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["small-model", "a"]) == main(["small-model", "a"]) == 0
    record = json.loads((tmp_path / "a/ragen-train.json").read_text())
    assert record == {"command": "small-model", "seed": 0}
    weights = (tmp_path / "a/model.safetensors").read_bytes()
    assert main(["small-model", "a", "--seed", "1"]) == 2
    assert "a holds files that this command does not make" in capsys.readouterr().err
    assert (tmp_path / "a/model.safetensors").read_bytes() == weights
    warm = ("warm-start", "a", "--env", "Bandit-v0", "--episodes", "1", "--epochs", "1", "--out")
    monkeypatch.setattr("ragen_starpo.warm_start.load", lambda _: pytest.fail("loaded"))
    capsys.readouterr()
    assert main([*warm, "a"]) == main([*warm, "."]) == 2
    assert capsys.readouterr().out == ""
    assert (tmp_path / "a/model.safetensors").read_bytes() == weights


@pytest.mark.parametrize("every", first_fast([0, 1]))
def test_a_warm_start_is_recorded_and_made_again(small, tmp_path, every):
    begun = tmp_path / "begun"
    with MadeFolder(begun, {"command": "small-model"}).write() as draft:
        make_small_model(draft, Shape(width=32, layers=2, hidden=48), 0)
    of_bandit = {"max_tokens": 8, "validate_every": every, "val_instances": 1}
    settings = WarmStartSettings(("Bandit-v0",), "answer", 2, 1, 2, **of_bandit)
    for _ in range(2):
        warm_start(settings, begun, tmp_path / "warm")
    typed = ["warm-start", str(begun), "--out", str(tmp_path / "warm"), "--env", "Bandit-v0"]
    typed += ["--format", "answer", "--episodes", "2", "--epochs", "1", "--batch", "2"]
    typed += ["--max-tokens", "8", "--validate-every", str(every), "--val-instances", "1"]
    assert main(typed) == 0  # the defaults of the command are those of the settings
    assert main([*typed, "--micro-batch", "1"]) == 2
    record = json.loads((tmp_path / "warm/ragen-train.json").read_text())
    assert (record["command"], record["model"]) == ("warm-start", str(begun))
    assert (record["envs"], record["max_tokens"]) == (["Bandit-v0"], 8)
    again = WarmStartSettings(("Bandit-v0",), "answer", 2, 1, 2, **of_bandit, seed=5)
    with pytest.raises(UserError, match=r"\(seed: recorded 0, given 5\)"):
        warm_start(again, begun, tmp_path / "warm")
