"""The harness from Python: the same bytes as the command's, and what a run says of itself."""

import builtins
import inspect
import json
import shutil
import subprocess
import sys
import types

import pytest

import ragen_bench
from ragen_bench import Run, UserError, evaluate
from ragen_bench.analysis.run import analyse as analyse_run
from ragen_bench.runs.directory import read_run
from ragen_bench.scores.compare import compare_with_first
from ragen_bench.scores.summary import summarise
from ragen_bench.settings.options import EvaluationOptions
from ragen_bench.terminal.progress import NotebookProgress, progress_without_bar
from ragen_bench.user_code import hash_source
from tests.ragen_bench.cli.command import run as command

pytestmark = pytest.mark.slow

HOSTILE = "hf/<img src=x onerror=alert(1)>&\u202e"
ENV = "ragen/Sokoban-v0"


def answer(messages):
    """An agent of this module."""
    return "<think>Down.</think><answer>Down</answer>"


async def patient(messages):
    return answer(messages)


class Player:
    """An agent with an object an episode."""

    def reset(self, episode):
        pass

    def act(self, messages, turn):
        return answer(messages)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def done(here):
    return evaluate("random", env=[ENV, "FrozenLake-v0"], limit=3, samples=4, progress=False)


def bytes_of(path):
    return (path / "episodes.jsonl").read_bytes()


def test_a_call_and_the_command_with_the_same_settings_leave_the_same_run(here, capfd):
    settings = {"suite": "quick", "limit": 2, "samples": 2, "seed": 3, "temperature": 1}
    called = evaluate("random", **settings, history=2, progress=False)
    assert capfd.readouterr() == ("", "")
    words = [f"--{name}={value}" for name, value in settings.items()]
    elsewhere = here / "command"
    elsewhere.mkdir()
    assert command("evaluate", "random", *words, "--history=2", cwd=elsewhere).returncode == 0
    commanded = Run(elsewhere / called.path)  # the name of the directory is the same too
    assert bytes_of(called.path) == bytes_of(commanded.path)
    assert called.metrics == commanded.metrics
    assert called.suite_score == commanded.suite_score
    there, other = (json.loads((run.path / "run.json").read_text()) for run in (called, commanded))
    assert other.pop("command").startswith("ragen-bench evaluate random --suite=quick")
    assert there.pop("command") == (
        "ragen_bench.evaluate('random', suite='quick', limit=2, samples=2, seed=3, "
        "temperature=1.0, history='2')"
    )
    # The number of threads is this process's, which other tests set.
    assert there.pop("machine").keys() == other.pop("machine").keys()
    assert there == other


def test_the_recorded_call_can_be_made_again(here):
    first = evaluate("oracle", env="Bandit-v0", limit=2, out=here / "it's", progress=False)
    before = bytes_of(first.path)
    shutil.rmtree(first.path)
    assert "out=" in first.config.command
    again = eval(first.config.command, {"ragen_bench": ragen_bench})
    assert (again.path, bytes_of(again.path)) == (first.path, before)


def test_the_arguments_are_the_options_of_the_command_with_their_defaults():
    parameters = dict(inspect.signature(evaluate).parameters)
    for own, default in (("out", None), ("prices", None), ("progress", True)):
        assert parameters.pop(own).default is default
    fields = EvaluationOptions.__dataclass_fields__
    assert parameters.keys() == fields.keys()
    del parameters["model"]
    assert {n: p.default for n, p in parameters.items()} == {
        n: fields[n].default for n in parameters
    }


def test_secrets_are_not_recorded():
    from ragen_bench import api

    options = EvaluationOptions(model="openai/x", header=("Authorization: Bearer hidden",))
    assert api._format_call(options, None) == (
        "ragen_bench.evaluate('openai/x', header=('Authorization: ...',))"
    )


def test_a_run_goes_on_where_it_was_interrupted(here, capsys):
    whole = evaluate(answer, env=ENV, limit=4, progress=False)
    lines = bytes_of(whole.path).splitlines(keepends=True)
    (whole.path / "episodes.jsonl").write_bytes(b"".join(lines[:2]) + b'{"torn')
    part = Run(whole.path)
    assert not part.complete
    assert part.summary["episodes"] == 2
    assert part.metrics[0].episodes == 2
    assert "2 of 4 episodes" in repr(part)
    again = evaluate(answer, env=ENV, limit=4)
    said = capsys.readouterr().out
    assert "torn last line" in said
    assert "Resuming runs/" in said
    assert again.complete
    assert bytes_of(again.path) == b"".join(lines)


@pytest.mark.parametrize("model", [answer, patient, Player])
def test_a_callable_is_the_agent_of_its_name(here, model):
    run = evaluate(model, env=ENV, limit=2, concurrency=2, progress=False)
    assert run.config.model == f"python:{__name__}:{model.__qualname__}"
    assert run.config.model_identity["source_sha256"]
    assert [turn.answer for turn in run.episodes[0].turns[:1]] == [answer([])]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"model": "rndom"}, "unknown model 'rndom'; did you mean random?"),
        ({"model": lambda messages: ""}, "cannot be found by its name; give a model's name"),
        ({"model": Player()}, "cannot be found by its name"),
        ({"suite": "cores"}, "unknown suite 'cores'; did you mean core?"),
        ({"env": "Sokobann-v0"}, "did you mean ragen/Sokoban-v0?"),
        ({"split": "tets"}, "did you mean test?"),
        ({"limit": 0}, "--limit is between 1 and"),
        ({"samples": 1.5}, "samples: Input should be a valid integer"),
        ({"temperature": "hot"}, "temperature: Input should be a valid number"),
        ({"history": -1}, "--history must be full, none or a number of turns, got '-1'"),
        ({"prices": "nowhere.toml"}, "nowhere.toml"),
    ],
)
def test_a_mistake_is_a_user_error_of_one_line(here, given, says):
    with pytest.raises(UserError) as raised:
        evaluate(**{"model": "random", "progress": False} | given)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    assert list(here.iterdir()) == []


def test_the_figures_are_those_of_the_summary(done):
    summary = json.loads((done.path / "summary.json").read_text())
    assert done.summary == summary
    assert done.complete
    assert done.report.read_text(encoding="utf-8").startswith("<!")
    assert [metrics.env for metrics in done.metrics] == [row["env"] for row in summary["envs"]]
    for row, figures in zip(summary["envs"], done.metrics, strict=True):
        for name in ("success", "score", "normalised"):
            estimate = getattr(figures, name)
            assert [estimate.value, *estimate.interval] == [row[name], *row[f"{name}_interval"]]
        assert {k: e.value for k, e in figures.pass_at_k.items()} == {
            int(k): value for k, value in row["pass_at_k"].items()
        }
        assert set(figures.pass_hat_k) == {1, 2, 4}
        assert (figures.mean_return, figures.return_interval) == (row["return"], None)
        assert figures.random.success.value == row["random"]["success"]
        assert figures.oracle.ceiling == row["oracle"]["ceiling"]
    assert done.suite_score.value == summary["suite_score"]
    assert [episode.key for episode in done.episodes] == [
        (env, "test", index, sample)
        for env in [metrics.env for metrics in done.metrics]
        for index in range(3)
        for sample in range(4)
    ]


def test_a_summary_of_fewer_episodes_is_not_believed(done):
    file = done.path / "summary.json"
    old = json.loads(file.read_text())
    file.write_text(json.dumps(old | {"episodes": 1, "suite_score": 9.0}))
    expected = summarise(read_run(done.path))
    assert Run(done.path).suite_score.value == expected["suite_score"] == old["suite_score"]
    file.unlink()
    assert Run(str(done.path)).metrics == done.metrics


def test_what_is_no_run_and_what_is_no_summary(done, here):
    with pytest.raises(UserError, match="holds no run"):
        Run(here)
    file = done.path / "summary.json"
    for change in ({"envs": [{}]}, {"suite_score": "x", "suite_score_interval": [0, 1]}):
        file.write_text(json.dumps({**done.summary, **change}))
        with pytest.raises(UserError, match="is not a summary; `ragen-bench report runs/"):
            Run(done.path)._repr_html_()


def test_a_data_frame_has_a_row_for_each_episode(done):
    frame = done.to_pandas()
    assert len(frame) == len(done.episodes) == 24
    first = done.episodes[0]
    assert frame["return"][0] == first.episode_return
    assert frame["turns"][0] == len(first.turns)
    assert list(frame["sample"][:5]) == [0, 1, 2, 3, 0]


def test_a_missing_pandas_is_one_line(done, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match=r"^this needs pandas: in a checkout pip install"):
        done.to_pandas()


def test_runs_are_compared_and_analysed(done):
    oracle = evaluate("oracle", env=[ENV, "FrozenLake-v0"], limit=3, samples=4, progress=False)
    (comparison,) = ragen_bench.compare(oracle, done)
    expected = compare_with_first([oracle.directory, done.directory])["comparisons"][0]
    assert [row.env for row in comparison.envs] == [row["env"] for row in expected["envs"]]
    assert comparison.envs[0].success.difference == expected["envs"][0]["success"]["difference"]
    assert comparison.success.interval == tuple(expected["suite"]["success"]["interval"])
    analysis = ragen_bench.analyse(done)
    rows = analyse_run(done.directory)["envs"]
    for row, env in zip(rows, analysis, strict=True):
        assert (env.env, env.failed) == (row["env"], row["failed"])
        assert [cause.label for cause in env.failures] == [
            each["label"] for each in row["failures"]
        ]
        assert sum(cause.episodes for cause in env.failures) == env.failed


def test_every_public_name_is_there():
    for name in ragen_bench.__all__:
        assert getattr(ragen_bench, name).__doc__


def test_a_run_without_an_episode_has_no_figures(done):
    done.path.joinpath("episodes.jsonl").write_bytes(b"")
    empty = Run(done.path)
    assert (empty.complete, empty.suite_score, empty.metrics) == (False, None, [])
    assert repr(empty) == f"<Run {str(done.path)!r}: random, 0 of 24 episodes>"


def test_names_of_others_are_text_in_a_notebook(done):
    file = done.path / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"model": HOSTILE}))
    html = Run(done.path)._repr_html_()
    assert "&lt;img src=x onerror=alert(1)&gt;&amp;⟨U+202E⟩" in html
    assert "<img" not in html
    assert "\u202e" not in repr(Run(done.path))
    assert html.count("<tr>") == 3
    assert "<td>Sokoban-v0</td><td>12</td>" in html
    assert "color" not in html  # a notebook's theme decides


def test_metrics_are_tables_in_a_notebook(done):
    metrics = Run(done.path).metrics
    assert metrics._repr_html_().count("<tr>") == 3
    assert metrics[0]._repr_html_().count("<tr>") == 2
    assert "<td>Sokoban-v0</td><td>12</td>" in metrics[0]._repr_html_()


def test_a_run_of_another_process_is_read(here):
    assert command("evaluate", "oracle", "--env=Bandit-v0", "--limit=2", cwd=here).returncode == 0
    [path] = (here / "runs").iterdir()
    run = Run(path)
    assert run.metrics[0].success.value == 1.0
    assert run.config.command == "ragen-bench evaluate oracle --env=Bandit-v0 --limit=2"


def test_a_notebook_shows_one_line_that_changes(monkeypatch):
    shown = []
    handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data))
    display = types.ModuleType("IPython.display")
    display.display = lambda data, raw, display_id: handle
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setenv("FORCE_COLOR", "1")  # so does ipykernel
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    from ragen_bench.api import _make_console

    assert not isinstance(
        getattr(progress_without_bar(_make_console(False), 4), "__self__", None), NotebookProgress
    )
    assert isinstance(progress_without_bar(_make_console(True), 4).__self__, NotebookProgress)
    times = iter([0.0, 0.1, 0.3, 0.31])
    progress = NotebookProgress(4, lambda: next(times))
    for episodes in (1, 2, 4):
        progress.tick(episodes, 10 * episodes)
    assert [data["text/plain"] for data in shown] == [
        "2 of 4 episodes, 20 responses",
        "4 of 4 episodes, 40 responses",
    ]
    assert '<progress value="4" max="4">' in shown[-1]["text/html"]


def test_what_was_typed_is_known_by_its_source():
    assert hash_source(answer) == hash_source(answer) != hash_source(patient)
    assert hash_source(sys.intern) == hash_source(3) == {}


def test_importing_the_package_imports_no_more_than_is_asked_for(tmp_path):
    code = (
        "import sys, ragen_bench\n"
        "assert {'Run', 'UserError', 'evaluate'} <= set(dir(ragen_bench))\n"
        "print(sorted(m for m in sys.modules if m.startswith(('ragen_', 'rich', 'pydantic'))))\n"
        "assert not hasattr(ragen_bench, 'evalute')\n"
        "sys.modules['rich.console'] = None\n"
        "try: ragen_bench.evaluate\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    light, missing = done.stdout.splitlines()
    assert light == "['ragen_bench']"
    told = "MissingExtraError this needs rich: in a checkout pip install '.[bench]'"
    assert missing.startswith(told)
