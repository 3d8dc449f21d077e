"""Run directories of which any part is another one: commands end in a line, not in a traceback."""

import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragen_bench.cli import main
from tests.ragen_bench.mutations import OTHERS, places, put

pytestmark = pytest.mark.slow

FILES = ("run.json", "episodes.jsonl", "summary.json", "run.json", "episodes.jsonl")
COMMANDS = (["report"], ["replay"], ["analyse"], ["compare", "run"])


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("played")
    games = ["--env", "Bandit-v0", "--env", "FrozenLake-v0", "--limit", "2"]
    assert main(["evaluate", "random", *games, "--out", str(folder / "run")]) == 0
    return folder


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_a_changed_run(played, data, monkeypatch, capsys):
    monkeypatch.chdir(played)
    shutil.rmtree("changed", ignore_errors=True)
    shutil.copytree("run", "changed")
    name = data.draw(st.sampled_from(FILES))
    file = played / "changed" / name
    lines = file.read_text().splitlines() if name.endswith("l") else [file.read_text()]
    number = data.draw(st.integers(0, len(lines) - 1))
    content = json.loads(lines[number])
    path = data.draw(st.sampled_from(list(places(content))))
    lines[number] = json.dumps(put(content, path, data.draw(OTHERS | st.floats()))[0])
    file.write_text("\n".join(lines) + "\n")
    command = data.draw(st.sampled_from(COMMANDS))
    assert main([*command, "changed"]) in (0, 1, 2)
    assert "Traceback" not in "".join(capsys.readouterr())
    assert {place.name for place in played.iterdir()} <= {"run", "changed"}
