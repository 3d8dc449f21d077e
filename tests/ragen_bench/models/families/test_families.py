"""The test templates render what the facts in the table say."""

import pytest
from jinja2.exceptions import TemplateError

from . import CALL, FAMILIES, LOOK

SYSTEM, FIRST, SAID, SECOND = "Be brief.", "Board one.", "Up", "Board two."
ALL = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def render(tokenizer, *messages, **settings):
    return tokenizer.apply_chat_template(
        [{"role": role, "content": text} for role, text in messages],
        tokenize=False,
        add_generation_prompt=True,
        **settings,
    )


@ALL
def test_turns_thoughts_and_the_generation_prompt(family):
    tokenizer = family.tokenizer()
    system = [] if family.system == "refused" else [("system", SYSTEM)]
    if not system:
        with pytest.raises(TemplateError, match="not supported"):
            render(tokenizer, ("system", SYSTEM), ("user", FIRST))
    first = render(tokenizer, *system, ("user", FIRST))
    assert (SYSTEM in first) == bool(system)
    assert first.endswith(family.opens)
    if family.empty and family.off:
        assert render(tokenizer, *system, ("user", FIRST), **dict(family.off)).endswith(
            family.empty
        )
        switched = family.tokenizer(**dict(family.off))
        assert render(switched, *system, ("user", FIRST)).endswith(family.empty)
    text = render(tokenizer, *system, ("user", FIRST), ("assistant", SAID), ("user", SECOND))
    assert text.index(FIRST) < text.index(SAID) < text.index(SECOND)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert all(len(tokenizer.encode(end, add_special_tokens=False)) == 1 for end in family.ends)


@ALL
def test_earlier_thoughts(family):
    if not family.thought or family.name == "gpt-oss":  # whose template refuses its marks
        return
    earlier = family.opens + family.write("Above.", SAID)
    messages = [("user", FIRST), ("assistant", earlier), ("user", SECOND)]
    assert ("Above." in render(family.tokenizer(), *messages)) == family.keeps


@ALL
def test_calls(family):
    if not family.call:
        return
    messages = [
        {"role": "user", "content": FIRST},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": CALL["id"], "content": "Nothing."},
    ]
    text = family.tokenizer().apply_chat_template(messages, tools=[LOOK], tokenize=False)
    written = family.call
    if family.name == "gpt-oss":  # as templates render it, which is not as models write it
        written = written.partition("<|message|>")[2]
    assert written in text
    assert "Nothing." in text
