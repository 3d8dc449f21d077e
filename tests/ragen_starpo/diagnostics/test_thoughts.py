"""Thoughts as tokens, which of them are scored, and how."""

import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.analysis.reasoning import read_thought
from ragen_starpo.diagnostics.thoughts import (
    Thought,
    draw_thoughts,
    find_thought,
    measure_thoughts,
    score_thoughts,
)
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn
from tests.ragen_starpo.chats import TEMPLATES, made

pytestmark = pytest.mark.xdist_group("chats")  # which take seconds to make
THINKING = {"model": "m", "envs": ["Bandit-v0"], "response_format": "think"}
words = st.text("ab .,\n0é→😀>", max_size=12)


def tokenizer_in(family):
    return made(family)[0].tokenizer


def trajectory(*answers, group=0, split=False, family="chatml", ended=False):
    """Return an episode; where the model ended its turns itself, their last tokens do."""
    tokenizer = tokenizer_in(family)
    turns = []
    for number, answer in enumerate(answers):
        ids = (
            *tokenizer(answer, add_special_tokens=False)["input_ids"],
            *([made(family)[1]] if ended else []),
        )
        turns.append(Turn((90 + group, number), Sampled(ids, (0.0,) * len(ids), True), 0.0))
    return TokenTrajectory(group, tuple(turns), {}, split)


def thought_of(played, family="chatml"):
    return find_thought(played.sequences[0], 0, played.record, tokenizer_in(family))


def read(thought):
    """Return the words of a thought, without its closing tag."""
    return tokenizer_in("chatml").decode(thought.ids, skip_special_tokens=True).split("</think>")[0]


@pytest.mark.slow
@pytest.mark.parametrize("family", TEMPLATES)
@given(
    st.sampled_from(["", "\n", "  "]),
    words,
    st.sampled_from(["</think><answer>Up</answer>", "</think>", ""]),
    st.booleans(),
)
def test_a_thought_is_the_tokens_from_its_first_word_to_its_end(family, space, words, rest, ended):
    """The first one may hold the end of a tag too, as ">a", and the last one "><"."""
    answer = f"{space}<think>{words}{rest}"
    played, tokenizer = trajectory(answer, family=family, ended=ended), tokenizer_in(family)
    thought = thought_of(played, family=family)
    recorded = read_thought(SimpleNamespace(answer=answer, reasoning=""))
    assert (thought is None) == (recorded == "")
    if thought is None:
        return
    ids = played.turns[0].sampled.ids
    begin, end = len(thought.opening), len(thought.opening) + len(thought.ids)
    assert thought.context == (90, 0)
    assert (thought.opening, thought.ids) == (ids[:begin], ids[begin:end])
    assert recorded in tokenizer.decode(thought.ids)
    assert "<think" in tokenizer.decode(thought.opening)
    # The first one is not of the tag alone, and the last one completes the tag or ends the answer.
    assert tokenizer.decode(ids[: begin + 1]).partition("<think>")[2]
    assert "</think>" not in tokenizer.decode(ids[: end - 1])
    assert "</think>" in tokenizer.decode(ids[:end]) if rest else end == len(ids)


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ("<think>Go up</think><answer>Up</answer>", "Go up"),
        ("\n<think>Go up", "Go up"),
        ("<think>a</think><think>b</think>", "a"),
        ("<think></think><answer>Up</answer>", None),
        ("<think> \n</think>", None),
        ("<think>", None),
        ("well <think>Go up</think>", None),
        ("<answer>Up</answer>", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("ended", [False, True])
def test_answers_that_begin_with_a_thought(answer, wanted, ended):
    thought = thought_of(trajectory(answer, ended=ended))
    assert (thought and read(thought)) == wanted


def test_an_answer_has_its_own_opening_after_any_context():
    thought = Thought((1, 2), (3, 4), (5, 6, 7), {})
    (sequence,) = thought.after((8,)).sequences
    assert sequence.ids == [8, 3, 4, 5, 6, 7]
    assert sequence.mask == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("split", [False, True])
def test_the_context_is_what_the_model_had_read(split):
    played = trajectory("<think>a</think>", "<think>b</think>", split=split)
    thoughts = [
        find_thought(sequence, place, {}, tokenizer_in("chatml"))
        for sequence in played.sequences
        for place in range(len(sequence.turns))
    ]
    earlier = () if split else (90, 0, *played.turns[0].sampled.ids)
    assert [thought.context for thought in thoughts] == [(90, 0), (*earlier, 90, 1)]
    assert [read(thought) for thought in thoughts] == ["a", "b"]


def chosen(played, count, seed=3, iteration=5):
    return draw_thoughts(played, count, seed, iteration, tokenizer_in("chatml"))


def test_thoughts_are_of_all_groups_in_turn_and_one_of_a_trajectory():
    played = [
        trajectory(*(f"<think>{group} {member} {turn}</think>" for turn in range(3)), group=group)
        for group in range(4)
        for member in range(3)
    ]
    for count, groups in ((4, [1, 1, 1, 1]), (6, [1, 1, 2, 2]), (99, [3, 3, 3, 3])):
        thoughts = chosen(played, count)
        assert len(thoughts) == min(count, 12)
        names = [read(thought).split() for thought in thoughts]
        assert sorted([name[0] for name in names].count(str(n)) for n in range(4)) == groups
        assert len({tuple(name[:2]) for name in names}) == len(names)
    assert {name[2] for name in names} == {"0", "1", "2"}
    # They follow from seed and iteration, and fewer of them are the first ones.
    assert thoughts == chosen(played, 99)
    assert thoughts[:4] == chosen(played, 4)
    assert thoughts != chosen(played, 99, seed=4)
    assert thoughts != chosen(played, 99, iteration=6)


def test_turns_without_a_thought_are_passed_over():
    silent, cut = "<answer>Up</answer>", TokenTrajectory(2, (), {})
    mixed = trajectory(silent, "<think>b</think>", silent, group=1)
    played = [trajectory(silent, silent), mixed, cut]
    (thought,) = chosen(played, 9)
    assert read(thought) == "b"
    assert chosen([played[0], cut], 9) == []


TABLE = {(1, 2): {7: 0.5, 8: 0.25}, (3,): {7: 0.125, 8: 0.75}}
"""Of a policy: the probability of a token after a context, whatever came since."""


def log_probs(batch):
    """Score by the table: the ids before the first sampled one are the context."""
    scores = torch.zeros(batch.mask.shape)
    for row, mask in enumerate(batch.mask):
        (places,) = mask.nonzero(as_tuple=True)
        context = tuple(batch.ids[row, : int(places[0])].tolist())
        for place in places:
            scores[row, place] = TABLE[context][int(batch.ids[row, place])]
    return torch.where(batch.mask.bool(), scores.log(), 0.0)


def test_equal_contexts_are_one():
    """Two thoughts of one prompt: neither is told from the other's context."""
    thoughts = [
        Thought((1, 2), (), (7,), {}),
        Thought((1, 2), (), (7, 7), {}),
        Thought((3,), (), (8, 7), {}),
    ]
    figures = score_thoughts(thoughts, log_probs)
    assert (figures["count"], figures["contexts"]) == (3, 2)
    assert figures["retrieval"] == pytest.approx(2 / 3)
    assert figures["retrieval_chance"] == 0.5
    own = torch.tensor([0.5, 0.25, 0.75 * 0.125])
    other = torch.tensor([0.125, 0.125**2, 0.25 * 0.5])
    weights = torch.tensor([2 / 3, 2 / 3, 1 / 3])
    mixed = weights * own + (1 - weights) * other
    expected = float((own / mixed).log().mean())
    assert figures["mutual_information"] == pytest.approx(expected)
    assert figures["conditional_entropy"] == pytest.approx(-float(own.log().mean()))


@pytest.mark.parametrize(
    ("often", "exact"),
    [
        ([(1, 0), (0, 1)], math.log(2)),
        ([(3, 1), (1, 3)], math.log(2) + 0.75 * math.log(0.75) + 0.25 * math.log(0.25)),
        ([(1, 1), (1, 1)], 0),
    ],
)
@pytest.mark.parametrize("rest", ["</think><answer>Up</answer>", ""])
def test_a_thought_that_another_begins_with_is_another_one(often, exact, rest):
    """By a policy that says "a" and "a a" so often after two contexts: the exact information."""
    played = [
        trajectory(f"<think>{words}{rest}", group=context, ended=True)
        for context, counts in enumerate(often)
        for words, count in zip(("a", "a a"), counts, strict=True)
        for _ in range(count)
    ]
    answers = [(each.group, each.turns[0].sampled.ids) for each in played]

    def count(ids):
        """Return how many answers after a context begin as these do."""
        group, begun = ids[0] - 90, tuple(ids[2:])
        return sum((group, begun) == (own, answer[: len(begun)]) for own, answer in answers)

    def log_probs(batch):
        scores = torch.zeros(batch.mask.shape)
        for row, place in batch.mask.nonzero().tolist():
            ids = batch.ids[row].tolist()
            before, with_it = count(ids[:place]), count(ids[: place + 1])
            scores[row, place] = math.log(with_it / before) if with_it else -math.inf
        return scores

    figures = score_thoughts([thought_of(each) for each in played], log_probs)
    assert figures["mutual_information"] == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("broken", [-math.inf, math.nan])
def test_figures_that_are_not_finite_are_left_out(broken):
    """Of a policy that does not tell how likely thoughts are."""
    recipe = recipe_of({**THINKING, "diagnostics": {"thoughts": 4}}, "a test")
    played = [trajectory("<think>a</think>", group=group) for group in range(4)]

    def log_probs(batch):
        return torch.full(batch.mask.shape, broken)

    figures = measure_thoughts(recipe, played, 0, tokenizer_in("chatml"), log_probs)
    assert (figures["thoughts/count"], figures["thoughts/contexts"]) == (4, 4)
    assert figures["thoughts/context_entropy"] == pytest.approx(math.log(4))
    assert "thoughts/mutual_information" not in figures
    assert all(map(math.isfinite, figures.values()))


def test_of_one_context_nothing_can_be_told_apart():
    thoughts = [Thought((3,), (), (7,), {}), Thought((3,), (), (8,), {})]
    assert score_thoughts(thoughts, log_probs) == {
        "count": 2,
        "contexts": 1,
    }
    assert score_thoughts([], log_probs) == {"count": 0, "contexts": 0}
