"""Templates of twenty-one families in training: refused, or read as evaluation reads them."""

from types import SimpleNamespace

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models.chat import make_chat
from ragen_bench.models.prompt import conversation
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.environment_loop import ChatTokens
from ragen_starpo.rollout.episodes import EpisodeFactory
from ragen_starpo.warm_start import Demonstrator
from tests.ragen_bench.models.families import FAMILIES
from tests.ragen_starpo.chats import TEMPLATES, tokenizer_of

REFUSED = "renders an earlier answer differently from the opening"
TRAINED = ["qwen25", "llama3", "llama4", "magistral", "gemma2", "granite32", "granite33", "phi4"]
TRAINED += ["seed-oss"]
"""Families whose templates keep answers as they were written."""


def chat_of(name):
    return make_chat(name, FAMILIES[name].tokenizer())


@pytest.mark.parametrize("name", TRAINED)
def test_training_reads_what_evaluation_reads(name):
    chat = chat_of(name)
    on_tokens = ChatTokens(chat, chat.add_end([chat.tokenizer.eos_token_id]))
    on_tokens.check()
    [end] = chat.encode(chat.turn_end)
    boards = ["One", "Two <|im_end|>", "Three"]
    answers = [" \n<think>Up?\n</think>\n<answer> Up </answer>\n", "<think>x</think>\n\nLeft"]
    ids = on_tokens.prompt(conversation(boards[:1], [], "think"))
    for answer, board in zip(answers, boards[1:], strict=True):
        sampled = [*chat.encode(answer), end]
        ids += sampled + on_tokens.observation(board, sampled)
    assert ids == chat.tokenize(conversation(boards, answers, "think"))


@pytest.mark.parametrize("name", sorted(set(FAMILIES) - set(TRAINED)))
def test_a_template_that_changes_earlier_answers_is_refused(name):
    with pytest.raises(UserError, match=REFUSED):
        ChatTokens(chat_of(name)).check()


@pytest.mark.parametrize(
    "changed",
    [
        "{{ m.content.split('</think>')[-1] }}",
        "{{ m.content.split('</reasoning>')[-1] }}",
        "{{ m.content | replace('\\n\\n', '\\n') }}",
        "{{ m.content.split() | join(' ') }}",
        "{{ m.content if loop.index > 6 else m.content | replace('think', 'thought') }}",
    ],
)
def test_everyone_who_trains_refuses_it(changed):
    tokenizer = tokenizer_of("chatml")
    tokenizer.chat_template = TEMPLATES["chatml"].replace("{{ m.content }}", changed)
    chat = make_chat("it", tokenizer)
    with pytest.raises(UserError, match=REFUSED):
        EpisodeFactory(Recipe("-", ("Bandit-v0",)), chat, frozenset(), None)
    loaded = SimpleNamespace(chat=chat, ends=frozenset(), tokenizer=tokenizer)
    with pytest.raises(UserError, match=REFUSED):
        Demonstrator(loaded, "think", 20)


def test_an_end_of_several_tokens_is_dropped_once():
    tokenizer = FAMILIES["llama3"].tokenizer()
    tokenizer.chat_template = TEMPLATES["chatml"]
    chat = make_chat("it", tokenizer)
    on_tokens = ChatTokens(chat, chat.add_end([tokenizer.eos_token_id]))
    on_tokens.check()
    answer = "<think>Up?</think><answer>Up</answer>"
    cut, ended = chat.encode(answer), chat.encode(f"{answer}<|im_end|>")
    whole = chat.tokenize(conversation(["One", "Two"], [answer], "think"))
    prompt = on_tokens.prompt(conversation(["One"], [], "think"))
    for sampled in (cut, ended):
        assert prompt + sampled + on_tokens.observation("Two", sampled) == whole
