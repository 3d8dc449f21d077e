"""`vllm/NAME-OR-DIR` in process, by what it answers beside transformers and the environments."""

import re

import pytest
import torch
from transformers import AutoModelForCausalLM

from ragen_bench.models import ask_all
from ragen_bench.models.grammar import answer_regex
from ragen_bench.models.hf.model import HFModel

from .questions import (
    CONTEXT,
    FIRST_TOKENS,
    FORCED,
    GREEDY,
    first_turns,
    many_times,
    short_questions,
)

pytestmark = pytest.mark.xdist_group("vllm")
# The tests share their cores, and threads that wait for each other then take many times as long.
torch.set_num_threads(1)


@pytest.fixture(scope="module")
def hf(folder):
    return HFModel(str(folder))


def texts(answers):
    return [answer["text"] for answer in answers]


def test_greedy_answers_are_those_of_transformers(answers, hf):
    """Texts, tokens and ends; the folder's penalty on repetitions counts in neither."""
    expected = ask_all(hf, short_questions(), GREEDY)
    same = [
        (theirs.text, theirs.prompt_tokens, theirs.completion_tokens, theirs.finish)
        == tuple(ours[name] for name in ("text", "prompt_tokens", "completion_tokens", "finish"))
        for ours, theirs in zip(answers["greedy"], expected, strict=True)
    ]
    assert sum(same) >= len(same) - 1  # all, but for a tie that rounding may turn
    assert {answer.finish for answer in expected} == {"stop", "length"}


def test_tokens_are_sampled_as_the_model_weighs_them(answers, hf, folder):
    """Neither the folder's temperature and top-k nor another filter counts."""
    ids = torch.tensor([hf._loaded.chat.tokenize(many_times(1)[0].messages)])
    plain = AutoModelForCausalLM.from_pretrained(folder)
    with torch.inference_mode():
        odds = torch.softmax(plain(input_ids=ids).logits[0, -1].double(), dim=-1)
    drawn = texts(answers["first_tokens"])
    assert len(drawn) == FIRST_TOKENS
    for token in odds.topk(3).indices.tolist():
        p = float(odds[token])
        share = drawn.count(hf._loaded.tokenizer.decode([token])) / FIRST_TOKENS
        assert abs(share - p) < 4 * (p * (1 - p) / FIRST_TOKENS) ** 0.5
    likely = {hf._loaded.tokenizer.decode([i]) for i in odds.topk(50).indices.tolist()}
    expected = 1 - float(odds.topk(50).values.sum())
    deviation = (expected * (1 - expected) / FIRST_TOKENS) ** 0.5
    assert expected > 4 * deviation  # so that the fifty alone would be too few
    share = sum(text not in likely for text in drawn) / FIRST_TOKENS
    assert abs(share - expected) < 4 * deviation


def test_an_answer_depends_on_seed_and_key_alone_but_for_rounding(answers):
    together = texts(answers["sampled"])
    same = [a == b for a, b in zip(together, texts(answers["sampled_alone"]), strict=True)]
    assert sum(same) >= len(same) - 1
    assert not set(together) & set(texts(answers["sampled_with_another_seed"]))
    assert not set(together) & set(texts(answers["greedy"]))
    assert len(set(together)) == len(together)


def test_the_same_requests_are_answered_alike_whatever_came_before(answers):
    assert answers["sampled"] == answers["sampled_again"]


def test_answers_end_with_the_stop_text(answers):
    stop, whole, cut = (answers["stopped"][name] for name in ("stop", "whole", "cut"))
    assert cut["text"] == whole["text"][: whole["text"].index(stop) + len(stop)]
    assert cut["finish"] == "stop"
    assert cut["completion_tokens"] < whole["completion_tokens"]


def test_constrained_answers_are_in_form_and_name_known_actions(answers):
    turns = first_turns()
    assert len(turns) == len(answers["forced"]) == 3
    for turn, answer in zip(turns, answers["forced"], strict=True):
        assert answer["finish"] == "stop"
        assert re.fullmatch(answer_regex(turn.env, FORCED.max_tokens), answer["text"])
        info = turn.env.step(answer["text"])[-1]
        assert (info["format_is_valid"], info["action_is_valid"]) == (True, True)


def test_a_conversation_without_room_is_answered_so_and_harms_no_other(answers):
    too_long, fits, other = answers["brim"]
    limit = 4
    assert (too_long["text"], too_long["finish"]) == ("", "context")
    assert (too_long["prompt_tokens"], too_long["completion_tokens"]) == (CONTEXT - limit + 1, 0)
    assert fits["prompt_tokens"] == CONTEXT - limit
    assert fits["finish"] in ("stop", "length")
    assert 1 <= fits["completion_tokens"] <= limit
    assert (other["finish"], other["completion_tokens"]) == ("length", limit)


def test_a_limit_that_leaves_no_room_for_any_question_is_refused(answers):
    fits, refused = answers["refusals"]
    assert fits == ""
    assert refused.endswith(f"lower --max-tokens, which is {CONTEXT}")


def test_a_closed_engine_has_dropped_its_requests(answers):
    closed = answers["closed"]
    assert 1 <= len(closed["early"]) < 4
    assert closed["refused"] == "the model's last engine was not closed"
    assert closed["after"] == answers["greedy"]


def test_the_record_says_what_ran(answers, hf):
    identity = answers["identity"]
    assert identity.pop("vllm").startswith("0.")
    assert identity == {name: hf.identity()[name] for name in ("dtype", "fingerprint")}
    assert identity["dtype"] == "float32"
    assert re.fullmatch(r"in this process, by vLLM 0\.\d+\.\d+ on cpu", answers["probe"])
    assert answers["slots"] == [4, 16]
