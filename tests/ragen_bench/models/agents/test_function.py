"""A callable of the user's own: what identifies it, and whatever it may raise."""

import importlib
import sys

import pytest

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.errors import UserError
from ragen_bench.models import resolve
from ragen_bench.models.agents.function import FunctionModel
from ragen_bench.models.base import Request, Sampling, TurnId, ask_all
from ragen_bench.runs.directory import read_run
from tests.ragen_bench.models.own_agent import SAMPLING, run_of

pytestmark = pytest.mark.slow

ANSWERS = "def answer(messages):\n    return '<think></think><answer>Up</answer>'\n"
PLACE = TurnId("ragen/X-v0", "val", 3, 1, 2)


def test_the_identity_changes_with_the_source(agent):
    first = agent(ANSWERS).identity()
    assert first == agent(ANSWERS).identity()
    assert first != agent(ANSWERS + "# edited\n").identity()


@pytest.mark.parametrize(
    ("module", "imported", "source"),
    [
        ("own_agent", "own_tools", "import own_tools\n"),
        ("own_agent", "own_kit.tools", "import own_kit.tools\n"),
        ("own_kit.agent", "own_kit.tools", "from . import tools\n"),
        ("own_kit.agent", "own_tools", "import own_tools\n"),
    ],
)
def test_the_identity_changes_with_what_is_imported(agent, module, imported, source):
    def identity(text):
        return agent(source + ANSWERS, module=module, **{imported: text}).identity()

    first = identity("x = 1\n")
    assert first == identity("x = 1\n")
    assert first != identity("x = 2\n")


def test_the_hash_leaves_out_unimported_and_installed_modules(agent, tmp_path, monkeypatch):
    installed = tmp_path / "env" / "site-packages"
    installed.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(installed))

    def identity(text):
        (installed / "own_library.py").write_text(text)
        return agent("import own_library\n" + ANSWERS, own_other=text).identity()

    assert identity("x = 1\n") == identity("x = 2\n")


def test_the_hash_covers_the_package_of_an_installed_agent(agent, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    (tmp_path / "site-packages").mkdir()

    def identity(tools, other):
        source = "import own_other\nfrom . import tools\n"
        for name, text in {
            "own_kit/agent": source,
            "own_kit/tools": tools,
            "own_other": other,
        }.items():
            file = tmp_path / "site-packages" / f"{name}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text + ANSWERS)
        agent(ANSWERS)  # forgets what was loaded
        return FunctionModel("own_kit.agent", "answer").identity()

    first = identity("x = 1\n", "y = 1\n")
    assert first == identity("x = 1\n", "y = 2\n")
    assert first != identity("x = 2\n", "y = 1\n")


def test_the_identity_does_not_depend_on_the_folder(agent, tmp_path, monkeypatch):
    first = agent("import own_tools\n" + ANSWERS, own_tools="").identity()
    (tmp_path / "elsewhere").mkdir()
    for name in ("own_agent", "own_tools"):
        (tmp_path / f"{name}.py").rename(tmp_path / "elsewhere" / f"{name}.py")
        del sys.modules[name]
    importlib.invalidate_caches()
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    assert FunctionModel("own_agent", "answer").identity() == first


def test_a_module_without_a_file_has_no_hash():
    assert FunctionModel("sys", "exit").identity() == {}


def test_an_edited_agent_does_not_resume_a_run(agent, tmp_path):
    play_run(run_of(), agent(ANSWERS), tmp_path / "run").unlock()
    with pytest.raises(UserError, match=r"model_identity\.source_sha256: "):
        play_run(run_of(), agent(ANSWERS.replace("Up", "Down")), tmp_path / "run")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def answer(:\n", "SyntaxError: invalid syntax"),
        ("answer = undefined\n", "NameError: name 'undefined' is not defined"),
        ("raise RuntimeError('one\\ntwo')\n", "RuntimeError: one"),
        ("raise RuntimeError\n", "RuntimeError"),
        ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
        ("answer = 1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_cannot_be_imported(agent, source, says):
    with pytest.raises(UserError) as caught:
        agent(source)
    said = str(caught.value)
    assert said.startswith(f"python:own_agent:answer cannot be imported: {says}")
    assert "\n" not in said
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("module", [".multi", "own..agent"])
def test_a_name_that_is_no_module(agent, module):
    with pytest.raises(UserError, match="cannot be imported") as caught:
        FunctionModel(module, "answer")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("body", "says"),
    [("raise OSError('one\\ntwo')", "raised OSError: one"), ("sys.exit()", "raised SystemExit")],
)
def test_a_callable_that_raises(agent, body, says):
    model = agent(f"import sys\ndef answer(messages):\n    {body}\n")
    with pytest.raises(UserError) as caught:
        ask_all(model, [Request([], "", None, turn_id=PLACE)], SAMPLING)
    place = "own_agent.py, line 3, in answer; ragen/X-v0/val, instance 3, sample 1, turn 2"
    assert str(caught.value) == f"python:own_agent:answer {says} ({place})"
    assert caught.value.exit_code == 1


def test_the_innermost_frame_of_the_users_own_code_is_named(agent):
    tools = "import json\n\ndef read(text):\n    return json.loads(text)\n"
    source = "import own_tools\ndef answer(messages):\n    return own_tools.read('?')\n"
    with pytest.raises(UserError) as caught:
        ask_all(agent(source, own_tools=tools), [Request([], "doctor/0", None)], SAMPLING)
    assert str(caught.value).endswith("(own_tools.py, line 4, in read; question doctor/0)")


def test_finished_episodes_are_kept_when_a_later_one_fails(agent, tmp_path):
    source = (
        "firsts = 0\n"
        "def answer(messages):\n"
        "    global firsts\n"
        "    firsts += len(messages) == 4\n"
        "    if firsts == 3:\n"
        "        raise OSError('no more paper')\n"
        "    return 'nothing'\n"
    )
    with pytest.raises(UserError, match="no more paper"):
        play_run(run_of(), agent(source), tmp_path / "run")
    assert [episode.index for episode in read_run(tmp_path / "run").episodes()] == [0, 1]


def test_a_function_cannot_be_held_to_a_grammar(agent):
    constrained = Sampling(0.5, 8, "", 0, constrain=True)
    for model in (agent(ANSWERS), resolve("random"), resolve("oracle")):
        with pytest.raises(UserError, match="cannot constrain responses by a grammar"):
            model.engine(constrained)
