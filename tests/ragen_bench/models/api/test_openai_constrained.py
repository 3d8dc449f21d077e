"""`--constrain` on a server: real answers of a model that hardly ever finds the form by itself."""

import dataclasses

import gymnasium
import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import Request, ask_all
from ragen_bench.models.grammar import answer_regex
from ragen_envs.core.protocol import RESPONSE_FORMATS

from . import proxy
from .client import SAMPLED, model_at, refusal

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]
CONSTRAINED = dataclasses.replace(SAMPLED, constrain=True, max_tokens=64)


def question(number, env="Sokoban-v0", response_format="think"):
    """Return a short question whose answer must have the form of a turn."""
    made = gymnasium.make(f"ragen/{env}", response_format=response_format).unwrapped
    made.reset(seed=number)
    messages = [{"role": "user", "content": f"Say a word, number {number}."}]
    return Request(messages, f"{env}/{response_format}/{number}", made)


@pytest.mark.parametrize(
    ("env", "response_format"),
    [
        *(("Sokoban-v0", form) for form in RESPONSE_FORMATS),
        ("Bandit-v0", "answer"),
        ("WebShop-v0", "answer"),
    ],
)
def test_answers_are_always_in_form(model, env, response_format):
    requests = [question(number, env, response_format) for number in range(3)]
    completions = ask_all(model, requests, CONSTRAINED)
    for request, completion in zip(requests, completions, strict=True):
        assert completion.finish == "stop"
        parsed, _ = request.env.read(completion.text)
        assert parsed.format_valid
        assert parsed.actions_valid
        assert 1 <= len(parsed.actions) <= request.env.actions_this_turn
    assert len({completion.text for completion in completions}) > 1


@pytest.mark.parametrize(
    ("owner", "field"),
    [
        ("vllm", lambda body: body["structured_outputs"]["regex"]),
        ("sglang", lambda body: body["regex"]),
    ],
)
def test_each_kind_of_server_is_given_its_own_field(between, owner, field):
    between.listing = proxy.changed(lambda reply: reply["data"][0].update(owned_by=owner))
    request = question(0, response_format="answer")
    between.plan = [
        proxy.says({"choices": [{"message": {"content": "\n<answer>Up || Up</answer>"}}]})
    ]
    ask_all(model_at(between.url), [request], CONSTRAINED)
    assert field(between.bodies[0]) == answer_regex(request.env, CONSTRAINED.max_tokens)


def test_without_the_option_there_is_no_grammar(model, between):
    ask_all(model, [question(0)], dataclasses.replace(SAMPLED, max_tokens=2))
    assert "grammar" not in between.bodies[0]


def test_a_server_that_overlooks_the_grammar_is_found_out(model, between):
    between.then = proxy.says({"choices": [{"message": {"content": "I go up."}}]})
    error = refusal(model, [question(0)], CONSTRAINED)
    assert str(error) == (
        f"{between.url} does not hold answers to the grammar: 'I go up.'; update the server, or "
        "leave --constrain out"
    )
    assert error.exit_code == 1


def test_an_answer_that_is_cut_is_not_blamed_on_the_grammar(model):
    few = dataclasses.replace(CONSTRAINED, max_tokens=3)
    [cut] = ask_all(model, [question(0)], few)
    assert (cut.finish, cut.text) == ("length", "<think>"[: len(cut.text)])


@pytest.mark.parametrize("owner", ["library", "system", None])
def test_a_server_that_has_no_grammars_is_refused_before_anything_is_asked(between, owner):
    between.listing = proxy.changed(lambda reply: reply["data"][0].update(owned_by=owner))
    with pytest.raises(UserError, match="not known to hold answers to a grammar; leave --constr"):
        model_at(between.url).engine(CONSTRAINED)
    assert not between.bodies
