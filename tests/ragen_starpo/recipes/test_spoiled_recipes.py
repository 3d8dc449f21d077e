"""A stranger's recipe: code that it names is not run unasked, and spoiled ones are refused."""

import os
from functools import partial
from random import Random

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.cli import main
from ragen_starpo.recipes.files import as_toml
from ragen_starpo.recipes.recipe import read_recipe
from tests.ragen_starpo.files import assert_one_line, spoil

CODE = {
    "shaping.python": '[shaping]\npython = "planted:reward"\n',
    "envs": 'envs = ["FrozenLake-v0", "planted:Planted-v0"]\n',
}


@pytest.fixture(params=CODE)
def planted(request, tmp_path, monkeypatch):
    """A recipe that names a module of its folder, and the folder that the module makes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted.py").write_text('import os\nos.mkdir("ran")\n')
    (tmp_path / "base.toml").write_text(f'base = "small"\nmodel = "m"\n{CODE[request.param]}')
    (tmp_path / "r.toml").write_text('base = "base.toml"\nseed = 1\n')
    return request.param, tmp_path / "ran"


@pytest.mark.parametrize("command", ["local", "verl"])
def test_code_of_a_recipe_waits_for_trust(planted, command, capsys):
    name, ran = planted
    assert main([command, "r.toml", "--out", "run"]) == 2
    said = capsys.readouterr().err
    assert f"r.toml runs code, {name}=planted:" in said
    assert "add --trust" in said
    assert said.count("\n") == 1
    assert not ran.exists()
    assert main(["recipes", "r.toml"]) == 0  # which only prints it
    assert "planted:" in capsys.readouterr().out
    assert not ran.exists()


def test_code_that_the_user_names_or_trusts_is_run(planted):
    name, _ = planted
    assert next(read_recipe("r.toml", trust=True).find_code())[0] == name
    typed = {"envs": 'envs=["x:FrozenLake-v0"]', "shaping.python": "shaping.python=x:y"}[name]
    assert next(read_recipe("r.toml", [typed]).find_code())[1].startswith("x:")
    with pytest.raises(UserError, match="runs code"):
        read_recipe("r.toml", ["seed=2"])


def test_spoiled_recipes_are_read_or_refused_in_a_line(tmp_path):
    text = as_toml(read_recipe("grpo+filter-50@small").as_json()).encode()
    file = tmp_path / "r.toml"
    for seed in range(300):
        file.write_bytes(spoil(text, Random(seed)))
        assert_one_line(partial(read_recipe, file), seed)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (f"a = {'[' * 100_000}", "nested more than 64 deep"),
        (f"{'a.' * 50_000}b = 1", "nested more than 64 deep"),
        ("a" * (2 << 20), "such a file has at most 1,048,576"),
        ('base = "/dev/zero"', "there is no recipe /dev/zero"),
        ('base = "pipe"', "pipe.toml is not a regular file"),
        (f"seed = {'9' * 5000}", "is not a TOML file"),
    ],
    ids=["lists", "tables", "long", "device", "pipe", "digits"],
)
def test_recipes_without_end_are_refused(tmp_path, content, reason):
    os.mkfifo(tmp_path / "pipe.toml")
    file = tmp_path / "r.toml"
    file.write_text(content.replace('"pipe"', '"pipe.toml"'))
    with pytest.raises(UserError, match=reason) as refused:
        read_recipe(file)
    assert len(str(refused.value)) < 400
