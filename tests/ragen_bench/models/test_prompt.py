"""The conversation: roles alternate, the texts are the ones given, the hash sees every change."""

import pytest

from ragen_bench.models import prompt
from ragen_bench.suites import make_env
from ragen_envs.core.protocol import RESPONSE_FORMATS, body_of
from ragen_envs.games.twenty_questions.answerer import REPLIES
from ragen_envs.registration import IDS


@pytest.mark.parametrize("response_format", RESPONSE_FORMATS)
def test_roles_alternate_and_texts_are_kept(response_format):
    built = prompt.conversation(["first", "second"], ["<raw> answer"], response_format)
    assert [m["role"] for m in built] == ["system", *["user", "assistant"] * 2, "user"]
    assert built[3]["content"] == "A new game begins.\n\nfirst"
    assert built[4]["content"] == "<raw> answer"
    assert built[5]["content"] == "second"


@pytest.mark.parametrize("response_format", RESPONSE_FORMATS)
def test_the_demonstration_is_in_form(response_format):
    shown = prompt.opening(response_format)[2]["content"]
    assert body_of(shown, response_format) == "Light"


@pytest.mark.parametrize("response_format", RESPONSE_FORMATS)
def test_an_opponent_sees_a_form_that_names_no_reply(response_format):
    built = prompt.opponent_conversation("the question", response_format)
    assert [m["role"] for m in built] == ["system", "user", "assistant", "user"]
    assert built[3]["content"] == "the question"
    shown = body_of(built[2]["content"], response_format)
    assert shown == "Green"
    assert shown not in REPLIES


@pytest.mark.parametrize("env", IDS)
def test_the_demonstration_names_no_action_of_the_suite(env):
    made = make_env(env, "test", "think")
    for seed in range(40):
        made.reset(seed=seed)
        assert not {"light", "open"} & {name.lower() for name in made.legal_actions}


def test_the_hash_tells_formats_and_wordings_apart(monkeypatch):
    hashes = {prompt.prompt_hash(response_format) for response_format in RESPONSE_FORMATS}
    assert len(hashes) == 3
    hashes |= {prompt.prompt_hash("think", None, form) for form in RESPONSE_FORMATS}
    assert len(hashes) == 6
    before = prompt.prompt_hash("think")
    monkeypatch.setattr(prompt, "SYSTEM", prompt.SYSTEM + " ")
    assert prompt.prompt_hash("think") != before
