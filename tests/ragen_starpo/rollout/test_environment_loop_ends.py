"""Responses that end by another end token of the model than the chat template's."""

import pytest

from ragen_bench.models.chat import make_chat
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import RolloutSettings
from ragen_starpo.rollout.environment_loop import ChatTokens
from ragen_starpo.rollout.episodes import EpisodeFactory, rollout_specs
from ragen_starpo.rollout.trajectory import Sampled
from tests.ragen_starpo.chats import CHATML, GEMMA, LLAMA_3, tokenizer_of

LLAMA_2 = """{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }} </s>\
{% else %}<s>[INST] {{ m.content }} [/INST] {% endif %}{% endfor %}"""
GLM = """[gMASK]{% for m in messages %}<|{{ m.role }}|>
{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}"""
BARE = "{% for m in messages %}{{ m.content }}</s>{% endfor %}"
PREFILLS = CHATML.replace(
    "{% for",
    "{% if messages[-1].role == 'assistant' %}{{ raise_exception('no prefill') }}{% endif %}{% for",
    1,
)
SPECIAL = ("<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>", "<|eot_id|>", "</s>")
SPECIAL += ("<|begin_of_text|>", "<|user|>", "<|assistant|>", "<|system|>", "<s>", "<bos>")
OTHER = "<|endoftext|>"


def chat_of(template):
    tokenizer = tokenizer_of("chatml")
    tokenizer.add_special_tokens({"additional_special_tokens": list(SPECIAL)})
    tokenizer.chat_template = template
    return make_chat("a test", tokenizer)


def ids_of(chat, *tokens):
    return chat.tokenizer.convert_tokens_to_ids(list(tokens))


@pytest.mark.parametrize(
    ("template", "end"),
    [
        (CHATML, "<|im_end|>"),
        (PREFILLS, "<|im_end|>"),
        (LLAMA_3, "<|eot_id|>"),
        (GEMMA, "<end_of_turn>"),
        (LLAMA_2, "</s>"),
        (BARE, "</s>"),
    ],
)
def test_one_end_of_turn_stays_whichever_the_model_sampled(template, end):
    chat = chat_of(template)
    ends = frozenset(ids_of(chat, end, OTHER))
    on_tokens = ChatTokens(chat, ends)
    cut = on_tokens.observation("The lamp is on.", [5])
    first = next(number for number, token in enumerate(cut) if token in ends)
    assert not chat.tokenizer.decode(cut[:first]).strip()
    for sampled in ids_of(chat, end, OTHER):
        assert on_tokens.observation("The lamp is on.", [5, sampled]) == cut[first + 1 :]


def test_a_token_that_opens_the_next_turn_stays():
    """GLM's models end a response by the user's mark, or by a token for the end of a text."""
    chat = chat_of(GLM)
    on_tokens = ChatTokens(chat, frozenset(ids_of(chat, "<|user|>", OTHER)))
    (user, other), cut = ids_of(chat, "<|user|>", OTHER), on_tokens.observation("X", [5])
    assert cut[0] == user
    assert on_tokens.observation("X", [5, user]) == cut[1:]
    assert on_tokens.observation("X", [5, other]) == cut


def test_an_episode_keeps_what_was_sampled_and_trains_it():
    chat = chat_of(CHATML)
    end, other = ids_of(chat, "<|im_end|>", OTHER)
    recipe = Recipe("-", ("Sokoban-v0",), rollouts=RolloutSettings(instances=1, samples=2))
    factory = EpisodeFactory(recipe, chat, frozenset([end, other]), None)
    (spec, *_) = rollout_specs(recipe.envs, recipe.rollouts, 0, 0)
    _, on_tokens = factory.begin(spec)
    word = chat.tokenizer("Up", add_special_tokens=False)["input_ids"]
    for last in ([other], [end], []):
        sampled = (*word, *last)
        on_tokens.take(Sampled(sampled, (-1.0,) * len(sampled), stopped=bool(last)))
    (sequence,) = on_tokens.trajectory().sequences
    ended = [(token, kind) for token, kind in zip(sequence.ids, sequence.mask, strict=True)]
    assert ended.count((other, 1)) == ended.count((end, 1)) == 1
    after = chat.tokenizer.decode(on_tokens.ids)
    turns = after.split("<|im_start|>assistant\nUp")[1:]
    between = "\n<|im_start|>user\n"
    assert turns[0].startswith(OTHER + between)
    assert turns[1].startswith("<|im_end|>" + between)
    assert turns[2].startswith("<|im_end|>" + between)
