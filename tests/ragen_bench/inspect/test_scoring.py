"""On the same answers, Inspect's figures are the harness's."""

import asyncio

import inspect_ai
import pytest
from inspect_ai.log import read_eval_log
from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.scorer import SampleScore, Score, Target

import ragen_bench
from ragen_bench.inspect import envs, quick
from ragen_bench.inspect.scoring import figures_of_episode, normalised
from tests.ragen_bench.inspect import replaying  # noqa: F401 (registers the model API)
from tests.ragen_bench.inspect.support import expected, figures, state_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("inspect")]  # which takes seconds to import
GUESS = "tests.ragen_bench.third_party.external_games:external/Guess-v0"


def evaluated(task, run, tmp_path):
    [log] = inspect_ai.eval(
        task, model=f"replay/{run.path}", log_dir=str(tmp_path / "logs"), display="none"
    )
    assert log.status == "success", log.error
    return read_eval_log(log.location)


@pytest.fixture(scope="module")
def random_run(tmp_path_factory):
    return ragen_bench.evaluate(
        "random",
        suite="quick",
        limit=2,
        samples=2,
        seed=1,
        out=tmp_path_factory.mktemp("run") / "run",
        progress=False,
    )


@pytest.fixture(scope="module")
def random_log(random_run, tmp_path_factory):
    return evaluated(quick(limit=2, samples=2, seed=1), random_run, tmp_path_factory.mktemp("logs"))


def test_the_figures_of_a_suite(random_run, random_log):
    assert figures(random_log) == pytest.approx(expected(random_run.summary, ("1", "2")), abs=1e-6)
    assert random_log.results.headline.metric == "ragen_bench/normalised_suite"


def test_each_episode_is_that_of_the_harness(random_run, random_log):
    episodes = {(e.env, e.index, e.sample): e for e in random_run.episodes}
    assert len(random_log.samples) == len(episodes) == 12
    for sample in random_log.samples:
        episode = episodes[sample.metadata["env"], sample.metadata["seed"], sample.epoch - 1]
        value, told = sample.scores["figures_of_episode"].value, sample.store["ragen_episode"]
        assert (value["success"], value["score"]) == (episode.success, episode.score)
        assert value["return"] == told["return"] == episode.episode_return
        assert (told["rollout"], told["outcome"]) == (episode.rollout, episode.outcome)
        assert told["rewards"] == [turn.reward for turn in episode.turns]
        said = [message.text for message in sample.messages if message.role == "assistant"]
        assert said[1:] == [turn.answer for turn in episode.turns]
        assert sample.messages[-1].text == episode.final_observation


@modelapi("broken")
class Broken(ModelAPI):
    """Answers twice, and then fails."""

    def __init__(self, model_name, base_url=None, api_key=None, config=None, **_args):
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        self._answers = 0

    async def generate(self, input, tools, tool_choice, config):
        self._answers += 1
        if self._answers > 2:
            raise ValueError("the model is gone")
        return ModelOutput.from_content(self.model_name, "<think></think><answer>A</answer>")


def test_episodes_that_an_error_ends_are_scored_as_not_solved(tmp_path):
    task = envs("BanditMultiPull-v0", limit=2)
    [log] = inspect_ai.eval(
        *(task, "broken/model"),
        log_dir=str(tmp_path),
        display="none",
        score_on_error=True,
        fail_on_error=False,
        max_samples=1,
    )
    assert log.status == "success", log.error
    for sample, turns in zip(log.samples, (2, 0), strict=True):
        value = sample.scores["figures_of_episode"].value
        assert (value["success"], value["score"]) == (0.0, 0.0)
        told = sample.store["ragen_episode"]
        assert (told["outcome"], len(told["rewards"])) == ("error", turns)


def test_an_error_before_the_first_turn_is_scored_as_not_solved():
    state = state_of(envs("Bandit-v0", limit=1).dataset[0])
    score = asyncio.run(figures_of_episode()(state, Target("")))
    assert score.value == {"success": 0.0, "score": 0.0, "return": 0.0}


def test_environments_of_another_package_have_no_floor(tmp_path):
    ids = ["FrozenLake-v0", GUESS]
    run = ragen_bench.evaluate("random", env=ids, limit=2, out=tmp_path / "run", progress=False)
    log = evaluated(envs(ids, limit=2), run, tmp_path)
    found = figures(log)
    assert found == pytest.approx(expected(run.summary), abs=1e-6)
    assert ("success", "mean", "grouped", GUESS) in found
    assert ("score", None, "normalised", "suite") not in found
    assert ("score", None, "normalised", "ragen/FrozenLake-v0") in found


def test_without_all_environments_there_is_no_figure_of_the_suite(random_log):
    scores = [
        SampleScore(
            score=Score(value=sample.scores["figures_of_episode"].value["score"]),
            sample_metadata=sample.metadata,
        )
        for sample in random_log.samples
    ]
    lake = [each for each in scores if each.sample_metadata["env"] == "ragen/FrozenLake-v0"]
    assert "suite" in normalised()(scores)
    assert list(normalised()(lake)) == ["ragen/FrozenLake-v0"]
