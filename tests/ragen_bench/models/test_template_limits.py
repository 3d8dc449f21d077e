"""Chat templates of strangers: rendered as transformers does, within limits of time and memory."""

import mmap
import struct
import subprocess
import sys
from functools import partial
from random import Random

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import templates
from ragen_bench.models.chat import CLOCK, Chat, format_day, make_chat
from ragen_bench.models.chat_messages import RefusedConversationError
from ragen_bench.models.gguf import metadata
from ragen_bench.models.templates import TemplateLimitError, render
from tests.ragen_starpo.files import assert_one_line

from .families import FAMILIES, LOOK

DAY = "2026-01-31"
DOUBLED = (
    "{% set n = namespace(s='x') %}{% for _ in range(60) %}"
    "{% set n.s = n.s ~ n.s %}{% endfor %}{{ n.s }}"
)
BEYOND = {
    "loop": "{% for _ in range(99999) %}{% for _ in range(99999) %}{% endfor %}{% endfor %}",
    "doubled": DOUBLED,
    "times": "{{ 'x' * 10**11 }}",
    "list": "{{ [1] * 10**11 }}",
    "recursion": "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    "tree": "{% macro f(x) %}{% if x %}{{ f(x-1) ~ f(x-1) }}{% endif %}{% endmacro %}{{ f(99) }}",
    "nested": f"{{{{ {'(' * 5000}1{')' * 5000} }}}}",
    "width": "{{ '%9999999999d' % 1 }}",
    "center": "{{ 'x'|center(10**11) }}",
    "range": "{% for _ in range(10**9) %}{% endfor %}",
    "long": "{{ 'x' * 40000000 }}",
}


def test_jinja_is_found_where_this_process_has_it(monkeypatch):
    """An isolated interpreter sees neither PYTHONPATH nor packages of the user."""
    start = subprocess.Popen

    def start_without_packages(command, **options):
        return start([command[0], "-S", *command[1:]], **options)

    process = templates._Process()
    monkeypatch.setattr(templates, "_PROCESS", process)
    monkeypatch.setattr(templates.subprocess, "Popen", start_without_packages)
    assert render("{{ word }}", {"word": "yes"}, DAY) == "yes"
    process.close()


@pytest.mark.parametrize("limit", ["ulimit -v 900000", "ulimit -t 600"])
def test_limits_of_the_shell_may_be_lower(limit):
    program = f"from {templates.__name__} import render; print(render('yes', {{}}, '{DAY}'))"
    command = f'{limit} && exec "$0" -c "$1"'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "yes\n", done.stderr


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(templates, "SECONDS", 1)


@pytest.mark.parametrize("name", BEYOND)
def test_a_template_ends_within_limits(name):
    with pytest.raises(TemplateLimitError) as refused:
        render(BEYOND[name], {"messages": []}, DAY)
    assert "\n" not in str(refused.value)
    assert render("{{ a }}", {"a": "\ud800é"}, DAY) == "\ud800é"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_text_is_that_of_transformers(family):
    tokenizer = FAMILIES[family].tokenizer()
    chat = make_chat(family, tokenizer, DAY)
    plain = [
        {"role": "user", "content": "ü 1"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    for messages in (plain, plain[:1]):
        for functions in ([], [LOOK]) if chat.supports_tools else ([],):
            for opens in (True, False):
                options = {"tools": functions or None, "add_generation_prompt": opens}
                expected = tokenizer.apply_chat_template(
                    messages, tokenize=False, **options, **{CLOCK: format_day(DAY)}
                )
                found = Chat(tokenizer, False, day=DAY)._apply(messages, functions, opens)
                assert found == expected


def test_a_model_with_such_a_template_is_refused():
    tokenizer = FAMILIES["qwen3"].tokenizer()
    tokenizer.chat_template = DOUBLED
    with pytest.raises(TemplateLimitError, match="cannot be rendered within its limits"):
        make_chat("doubled", tokenizer)


def test_errors_are_those_of_the_template():
    with pytest.raises(RefusedConversationError, match=r"a conversation: not today$"):
        render("{{ raise_exception('not today\\nnor later') }}", {}, DAY)
    with pytest.raises(RefusedConversationError, match="attribute '__class__' of 'str' object is"):
        render("{{ ''.__class__.__mro__ }}", {}, DAY)
    assert render("{{ strftime_now('%d %b') }}", {}, DAY) == "31 Jan"
    answered = "{% generation %}{{ a }}{% endgeneration %}"
    assert render(answered, {"a": [1, None]}, DAY) == "[1, None]"


def test_a_process_that_was_killed_is_started_again():
    render("", {}, DAY)
    templates._PROCESS._child.kill()
    templates._PROCESS._child.wait()
    with pytest.raises(TemplateLimitError):
        render("a", {}, DAY)
    assert render("a", {}, DAY) == "a"


def test_each_rendering_has_its_seconds_whole():
    """The system limits whole seconds of a process, which has used parts of one before."""
    busy = "{% for _ in range(40000) %}{% for _ in range(COUNT) %}{% endfor %}{% endfor %}"
    for _ in range(12):  # two seconds and more in all: one runs across each whole second
        render(busy.replace("COUNT", "50"), {}, DAY)


PIECES = (
    *("{% for m in messages %}", "{% endfor %}", "{{ m.content }}", "{% if m %}", "{% endif %}"),
    *(
        "{{ f(f) }}",
        "{% macro f(x) %}",
        "{% endmacro %}",
        "{{ [x] * 9**9 }}",
        "{% set x = x ~ x %}",
    ),
    *("{{ loop(m) }}", "{% for x in range(9**5) recursive %}", "{{ 'a'|center(9**12) }}", "text"),
    *("{{ x.__init__.__globals__ }}", "{{ messages|tojson(indent=9**9) }}", "{% break %}", "{{"),
)


def test_templates_of_random_pieces_are_rendered_or_refused_in_a_line(monkeypatch):
    for seed in range(60):
        random = Random(seed)
        template = "".join(random.choices(PIECES, k=random.randrange(1, 9)))
        assert_one_line(partial(render, template, {"messages": [{"content": "a"}]}, DAY), seed)


def write_gguf(file, entries):
    """Write the metadata of a GGUF file: texts, lists of texts and numbers."""

    def text(value):
        content = value.encode()
        return struct.pack("<Q", len(content)) + content

    def value(one):
        if isinstance(one, str):
            return struct.pack("<I", 8) + text(one)
        if isinstance(one, list):
            return struct.pack("<IIQ", 9, 8, len(one)) + b"".join(map(text, one))
        return struct.pack("<IH", 2, one)

    found = b"".join(text(key) + value(one) for key, one in entries.items())
    file.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(entries)) + found)
    return file


def read_gguf(file):
    with (
        file.open("rb") as content,
        mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        return metadata.read_metadata(file, data)


def test_templates_of_a_gguf_are_those_that_llama_cpp_reads(tmp_path):
    decoy = "tokenizer.chat_template\x08\0\0\0\x01\0\0\0\0\0\0\0a"
    entries = {"general.name": decoy, "tokenizer.ggml.tokens": ["a", "b"], "split.count": 2}
    shown = {"tokenizer.chat_template": "one", "tokenizer.chat_template.tool_use": DOUBLED}
    file = write_gguf(tmp_path / "m-00001-of-00002.gguf", {**entries, **shown})
    assert read_gguf(file) == (shown, 2)
    content = file.read_bytes()
    for seed in range(300):
        random = Random(seed)
        spoiled = bytearray(content)
        for _ in range(random.randrange(1, 6)):
            spoiled[random.randrange(4, len(spoiled))] = random.randrange(256)
        file.write_bytes(spoiled[: random.choice((None, random.randrange(24, len(spoiled))))])
        assert_one_line(partial(read_gguf, file), seed)


def test_parts_of_a_gguf_lie_in_its_folder(tmp_path):
    first, second = (tmp_path / f"m-0000{n}-of-00002.gguf" for n in (1, 2))
    write_gguf(first, {"split.count": 2})
    with pytest.raises(UserError, match=r"00002-of-00002.gguf' is missing, or a link to another"):
        metadata.find_parts(first, 2)
    (tmp_path / "other").mkdir()
    other = write_gguf(tmp_path / "other/m.gguf", {})
    second.symlink_to(other)
    with pytest.raises(UserError, match="is missing, or a link to another folder"):
        metadata.find_parts(first, 2)
    second.unlink()
    other.rename(second)
    assert metadata.find_parts(first, 2) == [first, second]
    with pytest.raises(UserError, match=r"as NAME-00001-of-00002.gguf"):
        metadata.find_parts(second, 2)
    assert metadata.find_parts(second, 1) == [second]
