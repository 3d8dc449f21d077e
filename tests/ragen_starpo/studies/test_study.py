"""Studies as files: those of the package, their commands, and what is refused."""

import re

import pytest

from ragen_bench.cli.main import parser as bench_parser
from ragen_bench.errors import UserError
from ragen_starpo.cli.main import main
from ragen_starpo.cli.main import parser as train_parser
from ragen_starpo.studies.jobs import count_seeds, model_jobs, run_jobs
from ragen_starpo.studies.pages import make_pages
from ragen_starpo.studies.results import make_results
from ragen_starpo.studies.study import list_studies, read_study

pytestmark = pytest.mark.slow

PARSERS = {"ragen-train": train_parser, "ragen-bench": bench_parser}
HEAD = """
question = "?"
[settings]
small = []
[models.m]
envs = ["Bandit-v0"]
[arms.a]
model = "m"
"""
CLAIM = "[[claims]]\ntext=''\nsource=''\nfigure='best'\nplus=['a']"


@pytest.mark.parametrize("scale", ["small", "gpu"])
@pytest.mark.parametrize("name", list_studies())
def test_every_command_of_a_study_can_be_typed(name, scale):
    study = read_study(name)
    jobs = [*model_jobs(study, scale, 2), *run_jobs(study, scale, 2)]
    assert len({job.name for job in jobs}) == len(jobs)
    for job in jobs:
        for stage in job.stages:
            PARSERS[stage.program]().parse(list(stage.arguments))


def test_arms_of_a_seed_begin_with_the_same_model_and_play_the_same_test(tmp_path):
    file = tmp_path / "two.toml"
    head = HEAD.replace("small = []", "small = ['give_up_after=100', 'rollouts.max_tokens=14']")
    arms = [f'[arms.filter-{part}]\nrows = "filter-{part}"\nmodel = "m"\n' for part in (25, 50)]
    file.write_text(
        head.partition("[arms.a]")[0] + "".join(arms) + CLAIM.replace("'a'", "'filter-25'")
    )
    study = read_study(str(file))
    first, second, *_ = run_jobs(study, "small", 2)
    assert (first.name, second.name) == ("runs/filter-25/seed-0", "runs/filter-50/seed-0")
    assert first.settings["recipe"]["model"] == "../../../models/m/seed-0/warm"
    assert first.settings["recipe"]["model"] == second.settings["recipe"]["model"]
    assert first.settings["recipe"]["filter"] != second.settings["recipe"]["filter"]
    training, test = first.stages
    assert training.shell_command.startswith("ragen-train local filter-25@small model=")
    assert test == second.stages[1]
    assert "--split test --limit 256 --seed 1" in test.shell_command
    assert "--format answer --max-tokens 14 --history full --temperature 0.5" in test.shell_command
    assert model_jobs(study, "gpu", 2) == []
    at_gpu = file.with_name("gpu.toml")
    at_gpu.write_text(
        file.read_text().replace("[models.m]", "gpu = ['give_up_after=200']\n[models.m]")
    )
    of_gpu = run_jobs(read_study(str(at_gpu)), "gpu", 2)[0].stages
    assert of_gpu[0].arguments[0] == "verl"
    assert of_gpu[1].shell_command.startswith("ragen-bench evaluate hf/run/final --env ragen/")


def test_a_study_without_a_test_has_no_stage_of_it(tmp_path):
    file = tmp_path / "rollouts.toml"
    head = HEAD.replace("[settings]", "test_instances = 0\n[settings]")
    head = head.replace("small = []", "small = ['give_up_after=100']")
    file.write_text(head + CLAIM)
    run = run_jobs(read_study(str(file)), "small", 2)[0]
    assert [stage.name for stage in run.stages] == ["training"]
    file.write_text(head.replace("test_instances = 0", "test_first = true") + CLAIM)
    run = run_jobs(read_study(str(file)), "small", 2)[0]
    assert [stage.name for stage in run.stages] == ["training", "test", "before"]
    file.write_text(head.replace("[settings]", "test_first = true\n[settings]") + CLAIM)
    assert len(run_jobs(read_study(str(file)), "small", 2)[0].stages) == 1
    file.write_text(head + CLAIM.replace("'best'", "'test'"))
    with pytest.raises(UserError, match="claim 1: test needs test_instances above 0"):
        read_study(str(file))


@pytest.mark.parametrize(
    ("figure", "more", "problem"),
    [
        ("gain", "validation.every=0", "claim 1: gain needs validation.every above 0"),
        ("rank_gain", "seeds", "claim 1: rank_gain needs diagnostics.thoughts above 0"),
        ("information_last", "", "claim 1: information_last needs diagnostics.thoughts above 0"),
        ("thought_length_fall", "", "claim 1: thought_length_fall needs response_format=think"),
    ],
)
def test_a_claim_on_what_no_run_measures_is_refused(tmp_path, figure, more, problem):
    file = tmp_path / "unmeasured.toml"
    settings = ["give_up_after=100", *([more] if "=" in more else [])]
    file.write_text(
        HEAD.replace("small = []", f"small = {settings}") + CLAIM.replace("best", figure)
    )
    with pytest.raises(UserError, match=problem):
        run_jobs(read_study(str(file)), "small", 2)


def test_a_gain_wants_the_first_model_tested_and_a_claim_may_be_about_one_environment(tmp_path):
    file = tmp_path / "gains.toml"
    claim = CLAIM.replace("best", "test_gain") + "\nenv='Bandit-v0'"
    file.write_text(HEAD + claim)
    with pytest.raises(UserError, match="claim 1: test_gain needs test_first = true"):
        read_study(str(file))
    file.write_text(HEAD.replace("[settings]", "test_first = true\n[settings]") + claim)
    assert read_study(str(file)).claims[0].env == "Bandit-v0"
    file.write_text(HEAD + CLAIM + "\nenv='Bandit-v0'")
    with pytest.raises(UserError, match="claim 1: env is for test, test_gain, failures_alike"):
        read_study(str(file))


def test_failures_are_analysed_where_a_claim_compares_them(tmp_path):
    file = tmp_path / "failures.toml"
    head = HEAD.replace("small = []", "small = ['give_up_after=100']")
    file.write_text(head + CLAIM.replace("best", "failures_alike"))
    with pytest.raises(UserError, match=r"claim 1: failures_alike needs at least two arms.a.envs"):
        run_jobs(read_study(str(file)), "small", 2)
    envs = "[arms.a]\nenvs=['Sokoban-v0', 'SokobanLarge-v0']"
    other = "[arms.b]\nmodel='m'\n[[claims]]"
    file.write_text(
        head.replace("[arms.a]", envs)
        + CLAIM.replace("best", "failures_alike").replace("[[claims]]", other)
    )
    stages = {
        job.name: [stage.name for stage in job.stages]
        for job in run_jobs(read_study(str(file)), "small", 2)
    }
    assert stages["runs/a/seed-0"] == ["training", "test", "analysis of test"]
    assert stages["runs/b/seed-0"] == ["training", "test"]
    for env, compared in (("Sokoban-v0", "SokobanLarge-v0"), ("FrozenLake-v0", "SokobanLarge-v0")):
        file.write_text(
            head.replace("[arms.a]", envs)
            + CLAIM.replace("best", "failures_alike")
            + f"\nenv='{env}'"
        )
        with pytest.raises(
            UserError, match=f"env is {env}, but arms.a measures .* in ragen/{compared}$"
        ):
            run_jobs(read_study(str(file)), "small", 2)


def test_a_model_of_a_bandit_learns_from_the_random_player(tmp_path):
    file = tmp_path / "arms.toml"
    of_arms = 'bandit = true\nplayer = "random"\nbatch = 16\n[arms.a]'
    head = HEAD.replace("small = []", "small = ['give_up_after=100']")
    file.write_text(head.replace("[arms.a]", of_arms) + CLAIM)
    made, warmed = model_jobs(read_study(str(file)), "small", 2)[0].stages
    for stage in (made, warmed):
        PARSERS[stage.program]().parse(list(stage.arguments))
    assert made.shell_command.startswith("ragen-train small-model untrained --bandit --width 96")
    assert " --player random --episodes 500 --epochs 5 --batch 16 " in warmed.shell_command


def test_models_that_think_are_analysed_before_and_after(tmp_path):
    file = tmp_path / "thinking.toml"
    thinks = HEAD.replace("[arms.a]", 'response_format = "think"\n[arms.a]\nrows = "grpo"')
    file.write_text(thinks.replace("small = []", "small = ['give_up_after=100']") + CLAIM)
    study = read_study(str(file))
    (making, *_), (run, *_) = model_jobs(study, "small", 2), run_jobs(study, "small", 2)
    for stage in (*making.stages, *run.stages):
        PARSERS[stage.program]().parse(list(stage.arguments))
    assert making.stages[0].shell_command == (
        "ragen-train small-model untrained --thinks --width 96 --layers 3 --seed 0"
    )
    training, test, before, *analyses = run.stages
    assert training.shell_command.startswith("ragen-train local grpo@small-think model=")
    first, last = "evaluate hf/../../../models/m/seed-0/warm ", "evaluate hf/run/final "
    command = test.shell_command.replace(last, first)
    assert before.shell_command == command.replace("--out test", "--out before")
    assert "--format think --max-tokens 40 " in before.shell_command
    assert [stage.shell_command for stage in analyses] == [
        "ragen-bench analyse before",
        "ragen-bench analyse test",
    ]
    with_gpu = file.read_text().replace("[models.m]", "gpu = ['give_up_after=200']\n[models.m]")
    file.write_text(with_gpu)
    at_gpu = run_jobs(read_study(str(file)), "gpu", 2)[0].stages[2]
    command = "ragen-bench evaluate hf/Qwen/Qwen2.5-0.5B-Instruct --env"
    assert at_gpu.shell_command.startswith(command)


def test_a_pilot_has_seeds_of_its_own_and_no_claims(tmp_path):
    file = tmp_path / "pilot.toml"
    head = HEAD.replace("small = []", "small = ['give_up_after=100']")
    file.write_text(f"claims = []\nfirst_seed = 100\n{head}")
    study = read_study(str(file))
    jobs = [*model_jobs(study, "small", 2), *run_jobs(study, "small", 2)]
    assert [job.name for job in jobs] == [
        *("models/m/seed-100", "models/m/seed-101"),
        *("runs/a/seed-100", "runs/a/seed-101"),
    ]
    assert "seed=101" in jobs[3].stages[0].arguments
    (tmp_path / "runs/a/seed-102").mkdir(parents=True)
    assert count_seeds(tmp_path, study) == 3
    page = make_pages(make_results(study, "small", 2, tmp_path))["study.md"]
    assert "Verdicts" not in page
    assert "runs/a/seed-101" in page


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD.replace('model = "m"', 'model = "n"') + CLAIM, "unknown model 'n'"),
        (HEAD, "claims"),
        (HEAD + CLAIM.replace("'a'", "'b'"), "unknown arm 'b'"),
        (HEAD + CLAIM.replace("best", "wurst"), "figure"),
        (HEAD + CLAIM.replace("'a'", ""), "plus names no arm"),
        (HEAD + CLAIM.replace("best", "tokens_to_target"), "needs the study's target"),
        (
            HEAD.replace("arms.a", "arms.'../a'") + CLAIM.replace("'a'", "'../a'"),
            "is not a valid name",
        ),
        (HEAD + CLAIM + "\nminus=['a']", "a is on both sides"),
        (HEAD + CLAIM + "\nmargin=nan", "margin"),
        (
            HEAD + CLAIM.replace("best", "test") + "\namong='collapsed'",
            "among=collapsed takes neither minus nor test",
        ),
        (
            HEAD.replace("small = []", "small = ['seed=1']") + CLAIM,
            "seed=1: the study sets",
        ),
        ("target = 60\n" + HEAD + CLAIM, "target: is from 0 to 1"),
        ("question = ", "is not a TOML file"),
    ],
)
def test_a_wrong_file_is_refused_in_a_line(tmp_path, text, problem):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(UserError, match=problem) as refused:
        read_study(str(file))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["fliter"], "did you mean filter?"),
        (["missing.toml"], "there is no study missing.toml"),
        (["filter", "--seeds", "1"], "--seeds must be at least 2"),
        (["filter", "--jobs", "0"], "--jobs must be at least 1"),
        (["filter", "--scale", "huge"], "unknown scale 'huge'"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_is_made(
    tmp_path, monkeypatch, capsys, arguments, problem
):
    monkeypatch.chdir(tmp_path)
    assert main(["study", *arguments, "--out", "out"]) == 2
    assert problem in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("rollouts.history=1", None),
        ("give_up_after=5", "arms.a: runs must reach the last iteration, also if the filter"),
        (
            "monitor.action=stop",
            "arms.a: runs must reach the last iteration; remove monitor.action=stop",
        ),
        ("rollouts.samplse=1", "did you mean rollouts.samples?"),
    ],
)
def test_arms_whose_recipes_cannot_be(tmp_path, setting, problem):
    file = tmp_path / "mine.toml"
    settings = f"small = ['give_up_after=100', '{setting}']"
    file.write_text(HEAD.replace("small = []", settings) + CLAIM)
    study = read_study(str(file))
    if problem:
        with pytest.raises(UserError, match=re.escape(problem)):
            run_jobs(study, "small", 2)
    else:
        assert "--history 1 " in run_jobs(study, "small", 2)[0].stages[1].shell_command


def test_the_folder_of_something_else_is_refused(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("")
    assert main(["study", "filter", "--out", str(tmp_path)]) == 2
    assert "holds files that are not of a study" in capsys.readouterr().err


def test_studies_are_listed(capsys):
    assert main(["studies"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in list_studies())
