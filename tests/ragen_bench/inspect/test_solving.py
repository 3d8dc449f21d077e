"""The solver asks as the harness does, and its epochs are the rollouts of a group."""

import pytest
from inspect_ai.model import ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput
from inspect_ai.model._model_output import ChatCompletionChoice
from inspect_ai.util import LimitExceededError

from ragen_bench.episodes.episode import Episode, Task, derive_noise_seed
from ragen_bench.inspect import envs
from ragen_bench.inspect.solving import STORE_KEY, BrokenOffError, read_completion
from ragen_bench.models.base import Completion
from ragen_bench.suites import make_env
from ragen_envs.core.policies import oracle_answer
from ragen_envs.integrations.bridging import Episode as PlainEpisode
from tests.ragen_bench.inspect.support import play, state_of

pytestmark = pytest.mark.xdist_group("inspect")  # which takes seconds to import
LAKE, BANDIT = "ragen/FrozenLake-v0", "ragen/BanditMultiPull-v0"


@pytest.mark.parametrize("history", ["full", "none", "2"])
@pytest.mark.parametrize("response_format", ["think", "answer", "plain"])
def test_the_prompts_are_the_harness_s(history, response_format):
    task = envs(BANDIT, limit=1, format=response_format, history=history, samples=2)
    env = make_env(BANDIT, "test", response_format)
    kept = {"full": None, "none": 0, "2": 2}[history]
    episode = Episode(Task(BANDIT, "test", 0, 1), 0, env, response_format, kept)
    asked, answers = [], []
    while not episode.over:
        asked.append([(m["role"], m["content"]) for m in episode.request().messages])
        answers.append(oracle_answer(env))
        episode.take(Completion(answers[-1]))
    _, shown = play(task.solver, state_of(task.dataset[0], epoch=2), answers)
    assert shown == asked
    assert len(shown) > 3


def same_arm(seed):
    """Return answers that pull one arm to the end."""
    episode = PlainEpisode(BANDIT, "test", "plain")
    episode.reset(seed)
    return [episode.info["legal_actions"][0]] * 100


def test_the_epochs_of_a_sample_share_the_instance_and_differ_in_noise():
    task = envs(BANDIT, limit=8, format="plain", samples=4, seed=3)
    for seed, sample in enumerate(task.dataset):
        first, rewards = set(), set()
        for epoch in range(1, task.epochs + 1):
            state, shown = play(task.solver, state_of(sample, epoch), same_arm(seed))
            told = state.store.get(STORE_KEY)
            assert (sample.metadata["seed"], told["rollout"]) == (
                seed,
                derive_noise_seed(3, epoch - 1),
            )
            first.add(shown[0][-1])
            rewards.add(tuple(told["rewards"]))
        assert len(first) == 1
        assert len(rewards) > 1
    assert seed == 7


def test_an_episode_that_a_limit_ends_is_scored_and_not_solved():
    task = envs(BANDIT, limit=1, format="plain")
    episode = PlainEpisode(BANDIT, "test", "plain")
    episode.reset(0)
    best = episode.oracle()  # which the game gives a score for at once

    def until_the_limit():
        yield best
        raise LimitExceededError("token", value=9, limit=8)

    state = state_of(task.dataset[0])
    with pytest.raises(LimitExceededError):
        play(task.solver, state, until_the_limit())
    told = state.store.get(STORE_KEY)
    assert (told["outcome"], told["success"], told["score"]) == ("limit", False, 0.0)
    assert len(told["rewards"]) == 1


def test_an_answer_without_room_in_the_context_ends_the_episode():
    task = envs(LAKE, limit=1)
    full = ModelOutput.from_content("scripted", "no room", stop_reason="model_length")
    state, _ = play(task.solver, state_of(task.dataset[0]), [full])
    assert state.store.get(STORE_KEY)["outcome"] == "context_overflow"


def answer(text, reason="stop"):
    return ModelOutput.from_content("scripted", text, stop_reason=reason)


def test_a_piece_of_an_answer_is_asked_for_again():
    task = envs(BANDIT, limit=1, format="think")
    sample, whole = task.dataset[0], "<think></think><answer>A</answer>"
    piece = answer("<think>The best", "unknown")
    state, shown = play(task.solver, state_of(sample), [piece, piece, *[whole] * 100])
    assert shown[0] == shown[1] == shown[2]  # the piece is not in the conversation
    assert state.store.get(STORE_KEY)["outcome"] != "error"
    state = state_of(sample)
    with pytest.raises(BrokenOffError, match="a piece: '<think>The best'"):
        play(task.solver, state, [whole, piece, piece, piece])
    told = state.store.get(STORE_KEY)
    assert (told["outcome"], told["success"], len(told["rewards"])) == ("error", False, 1)


@pytest.mark.parametrize(
    ("given", "completion"),
    [
        (answer("Up, L", "content_filter"), Completion("Up, L", finish="filtered")),
        (answer("", "content_filter"), Completion("", finish="filtered")),
        (answer("<answer>Up</answer>", "unknown"), Completion("<answer>Up</answer>")),
    ],
)
def test_what_a_model_did_is_an_answer(given, completion):
    for response_format in ("think", "answer"):
        assert read_completion(given, response_format) == completion


def test_no_answer_at_all_is_an_error():
    with pytest.raises(BrokenOffError, match="scripted gave no answer: blocked"):
        read_completion(ModelOutput(model="scripted", choices=[], error="blocked"), "think")


def output(*content, stop_reason="stop"):
    message = ChatMessageAssistant(content=list(content))
    return ModelOutput(
        model="scripted", choices=[ChatCompletionChoice(message=message, stop_reason=stop_reason)]
    )


@pytest.mark.parametrize(
    ("said", "response_format", "text", "reasoning", "finish"),
    [
        # Behind the stop text the harness's engines would not have gone on.
        (
            [ContentText(text="<think>a</think><answer>Up</answer> More.")],
            "think",
            "<think>a</think><answer>Up</answer>",
            "",
            "stop",
        ),
        # Inspect takes thoughts in tags out of the text.
        (
            [ContentReasoning(reasoning="a", internal="think"), ContentText(text="<answer>Up")],
            "think",
            "<think>a</think><answer>Up",
            "",
            "length",
        ),
        # Thoughts that a server reports by itself stay apart.
        (
            [ContentReasoning(reasoning="a"), ContentText(text="<answer>Up</answer>")],
            "answer",
            "<answer>Up</answer>",
            "a",
            "stop",
        ),
    ],
)
def test_an_answer_as_the_harness_takes_it(said, response_format, text, reasoning, finish):
    found = read_completion(output(*said, stop_reason="max_tokens"), response_format)
    assert (found.text, found.reasoning, found.finish) == (text, reasoning, finish)
