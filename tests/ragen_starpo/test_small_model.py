"""The small model's tokens, with those of thoughts and without."""

import pytest
from tokenizers import Tokenizer

from ragen_bench.analysis import replay_episode
from ragen_bench.analysis.failures import find_labeler
from ragen_bench.analysis.reasoning import Reasoning
from ragen_bench.episodes.replay import Replayer
from ragen_bench.errors import UserError
from ragen_bench.models.hf.loading import load
from ragen_bench.suites import make_env
from ragen_starpo.rollout.trajectory import batch_of
from ragen_starpo.small_model import Shape, make_small_model
from ragen_starpo.thoughts import PHRASES
from ragen_starpo.warm_start import Demonstrator
from tests.ragen_bench.analysis.support import config


@pytest.fixture(scope="module")
def thinking(tmp_path_factory):
    folder = tmp_path_factory.mktemp("thinking")
    make_small_model(folder, Shape(width=16, layers=1, heads=1, hidden=16), 0, thinks=True)
    return folder


@pytest.fixture(scope="module")
def of_arms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arms")
    make_small_model(folder, Shape.of(8, 1), 0, bandit=True)
    return folder


def test_thoughts_add_tokens_behind_all_others(thinking, small):
    vocabulary, plain = (
        Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
        for folder in (thinking, small)
    )
    assert plain.items() <= vocabulary.items()
    added = {token for token, number in vocabulary.items() if number >= len(plain)}
    assert added == {"<think>", "</think><answer>", *PHRASES}
    assert len(vocabulary) == len(plain) + len(added)


def test_a_bandits_model_that_thinks_tells_its_plan_in_a_few_tokens(tmp_path):
    make_small_model(tmp_path / "both", Shape.of(8, 1), 0, thinks=True, bandit=True)
    loaded = load(str(tmp_path / "both"))
    demonstrator = Demonstrator(loaded, "think", 40, "random")
    for index in range(16):
        (turn,) = demonstrator.episode("ragen/Bandit-v0", "train", index).turns
        told = loaded.tokenizer.decode(turn.sampled.ids)
        lead, _, arm = told.removesuffix("</answer>").partition("</think><answer>")
        assert lead in {f"<think>{each}{arm}" for each in ("So ", "I choose ", "Plan: ")}
        assert len(turn.sampled.ids) == 6


@pytest.mark.parametrize("env", ["ragen/Sokoban-v0", "ragen/FrozenLake-v0"])
def test_a_thinking_answer_is_short_and_its_wording_follows_from_the_instance(thinking, env):
    loaded = load(str(thinking))
    shown, again = (
        [Demonstrator(loaded, "think", 40).episode(env, "train", index) for index in range(20)]
        for _ in range(2)
    )
    assert [each.record.turns for each in shown] == [each.record.turns for each in again]
    turns = [turn for each in shown for turn in each.record.turns]
    for lead in ("<think>The ", "<think>I am ", "So ", "I choose ", "Plan: "):
        assert any(lead in turn.answer for turn in turns)
    # Two facts of five tokens, five actions twice, three tags and a lead; on ice three holes.
    assert max(len(turn.sampled.ids) for each in shown for turn in each.turns) <= 28
    # As the analysis reads them, all that is planned is done, and all that is claimed is true.
    run = config("think").model_copy(update={"split": "train"})
    labeler, replayer = find_labeler(env), Replayer(run)
    measured = Reasoning(labeler)
    for each in shown:
        measured.add(replay_episode(replayer, each.record, labeler.read_state))
    measures = measured.measures()
    assert (measures["thoughts"], measures["plans"]["agreement"]) == (len(turns), 1)
    assert (measures["claims"]["truth"], measures["claims"]["unread"]) == (1, 0)
    assert measures["claims"]["true"] > len(turns)


@pytest.mark.parametrize("env", ["ragen/Bandit-v0", "ragen/BanditRev-v0"])
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_a_bandit_is_its_two_arms_and_an_answer_is_one_of_them(of_arms, env, split):
    loaded = load(str(of_arms))
    demonstrator = Demonstrator(loaded, "answer", 14, "random")
    shown = [demonstrator.episode(env, split, index) for index in range(64)]
    for each in shown:
        made = make_env(env, split, "answer")
        made.reset(seed=each.record.index)
        first, second = made.legal_actions
        ids = batch_of([each], loaded.pad).ids[0]
        text = loaded.tokenizer.decode(ids)
        arm = each.record.turns[0].actions[0]
        assert text == f"<user>{first}, {second}<assistant><answer>{arm}</answer><end>"
        assert len(ids) == 9
    # Half of the arms are the better one: 16 is four standard deviations below the mean.
    assert 16 <= sum(each.record.success for each in shown) <= 48


def test_other_sizes_keep_the_proportions(tmp_path):
    assert Shape.of(96, 3) == Shape()
    small, large = (
        make_small_model(tmp_path / str(width), Shape.of(width, layers), 0)
        for width, layers in ((48, 2), (288, 6))
    )
    # The span that studies of size go over, in parameters.
    assert 50_000 < small < 150_000
    assert 5_500_000 < large < 6_500_000


def test_feed_forward_layers_are_whole_blocks_of_a_gpus_kernels():
    """And the sizes of published models are what they were."""
    assert {width: Shape.of(width, 1).hidden for width in (48, 96, 192, 288, 512)} == {
        48: 128,
        96: 256,
        192: 512,
        288: 768,
        512: 1408,
    }


@pytest.mark.parametrize(
    ("width", "layers", "problem"),
    [
        (20, 1, "--width must be a multiple of 8, got 20"),
        (96, 0, "--layers must be at least 1"),
    ],
)
def test_a_size_that_cannot_be_is_refused(width, layers, problem):
    with pytest.raises(UserError, match=problem):
        Shape.of(width, layers)
