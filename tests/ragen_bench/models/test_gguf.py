"""`gguf/PATH`: llama.cpp in process."""

import dataclasses
import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import gymnasium
import pytest

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.errors import UserError
from ragen_bench.models import Request, ask_all, resolve
from ragen_bench.models.gguf import model as model_module
from ragen_bench.models.gguf.model import GGUFModel
from ragen_bench.models.gguf.template import ECHO
from ragen_bench.models.prompt import conversation
from ragen_envs.core.tool_calls import Call, as_text
from tests.ragen_bench.cli.command import run

from .api import llama
from .api.client import GREEDY, REQUESTS, texts
from .families import FAMILIES, LOOK

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("language-model")]


@pytest.fixture(scope="module")
def gguf():
    return GGUFModel(str(llama.gguf_file()), threads=1)


def test_it_answers_as_llama_cpps_server_does(gguf, faultless):
    """That one runs apart, with another context, and is asked several questions at once."""
    assert texts(gguf) == faultless


def test_answers_do_not_depend_on_what_was_asked_before(gguf, faultless):
    assert texts(gguf, REQUESTS[::-1]) == faultless[::-1]


def test_tokens_ends_and_the_stop_text(gguf):
    [cut] = ask_all(gguf, REQUESTS[2:3], GREEDY)
    assert (cut.finish, cut.completion_tokens) == ("length", 6)
    [whole] = ask_all(gguf, REQUESTS[2:3], dataclasses.replace(GREEDY, max_tokens=60))
    assert whole.finish == "stop"
    assert whole.completion_tokens < 60
    assert whole.text.startswith(cut.text)
    assert whole.prompt_tokens == cut.prompt_tokens > 20  # with the template's system message
    stop = whole.text[4:7]
    [stopped] = ask_all(gguf, REQUESTS[2:3], dataclasses.replace(GREEDY, max_tokens=60, stop=stop))
    assert stopped.text == whole.text[: whole.text.index(stop) + len(stop)]


def test_a_conversation_beyond_the_context(gguf):
    long = Request([{"role": "user", "content": "word " * 9000}], "long", None)
    [overflow] = ask_all(gguf, [long], GREEDY)
    assert (overflow.finish, overflow.text) == ("context", "")


def test_a_limit_beyond_the_context_is_refused(gguf):
    with pytest.raises(UserError, match="with a context of 8192 tokens; lower --max-tokens"):
        gguf.engine(dataclasses.replace(GREEDY, max_tokens=8192))


def test_identity_and_probe(gguf):
    assert (gguf.slots, gguf.group_size) == (1, 1)
    assert gguf.probe() == "in this process, on llama.cpp, 8192 tokens"
    identity = gguf.identity()
    assert identity.pop("engine").startswith("xllamacpp 2")
    assert identity == {"fingerprint": "b179c9523d0e6a0f", "context": 8192}


def test_the_date_of_a_template_is_that_of_the_run(monkeypatch):
    user = [{"role": "user", "content": "Go"}]
    read = model_module.read_metadata
    texts = []
    clock = "{% set form = '%d %b' %}{{ strftime_now(form) }} {{ strftime_now(\"%Y\") }};"

    def read_dated(file, data):
        templates, parts = read(file, data)
        return {name: clock + template for name, template in templates.items()}, parts

    monkeypatch.setattr(model_module, "read_metadata", read_dated)
    model = GGUFModel(str(llama.gguf_file()), threads=1)
    today = model.identity()["date"]
    assert today == datetime.now().astimezone().date().isoformat()
    assert model.notes == []
    for day in ("2031-02-03", "2031-02-04"):
        model.resume({"date": day})
        assert model.identity()["date"] == day
        texts.append(model._model._render(user, []))
    assert [text.partition(";")[0] for text in texts] == ["03 Feb 2031", "04 Feb 2031"]
    assert texts[0].partition(";")[2] == texts[1].partition(";")[2]
    assert "user\nGo" in texts[0]


def test_llama_cpp_never_reads_the_template(gguf, tmp_path):
    """The file's template is one that llama.cpp cannot read."""
    content = llama.gguf_file().read_bytes()
    shown = gguf._model.file_template.default.encode()
    template = b"{{ 'Say:' | center(6) }}{{ messages[0].content | urlize }}"
    file = tmp_path / "model.gguf"
    assert content.count(shown) == 1
    comment = b"{#" + b" " * (len(shown) - len(template) - 4) + b"#}"
    file.write_bytes(content.replace(shown, comment + template))
    model = GGUFModel(str(file), threads=1)
    assert model._model._ask_server("props")["chat_template"] == ECHO
    [answer] = ask_all(model, REQUESTS[:1], GREEDY)
    text = model._model.file_template.render(REQUESTS[0].messages)
    assert text == " Say: Name a colour."
    tokens = model._model._ask_server("tokenize", {"content": text, "add_special": True})["tokens"]
    assert answer.prompt_tokens == len(tokens)


def test_the_server_refuses_other_keys(gguf):
    with pytest.raises(OSError, match="HTTP Error 401"):
        llama.post(gguf._model.url, {"messages": REQUESTS[0].messages})


@pytest.mark.parametrize("name", ["Sokoban-v0", "WebShop-v0"])
def test_constrained_answers_are_in_form(gguf, name):
    env = gymnasium.make(f"ragen/{name}", response_format="answer").unwrapped
    env.reset(seed=0)
    request = Request(REQUESTS[0].messages, "constrained", env)
    [answer] = ask_all(gguf, [request], dataclasses.replace(GREEDY, max_tokens=60, constrain=True))
    assert env.read(answer.text)[0].actions_valid


def test_a_resumed_run_ends_with_the_same_bytes(gguf, tmp_path):
    evaluation = Evaluation(
        model="gguf/here",
        suite="",
        instances={"ragen/Bandit-v0": 3},
        split="test",
        response_format="plain",
        samples=1,
        seed=0,
        temperature=1.0,
        max_tokens=16,
    )
    play_run(evaluation, gguf, tmp_path).unlock()
    episodes = tmp_path / "episodes.jsonl"
    whole = episodes.read_bytes()
    assert len({json.loads(line)["turns"][0]["answer"] for line in whole.splitlines()}) == 3
    episodes.write_bytes(whole[: whole.index(b"\n") + 9])  # as a kill leaves it
    play_run(evaluation, GGUFModel(str(llama.gguf_file()), threads=1), tmp_path).unlock()
    assert episodes.read_bytes() == whole
    assert whole.count(b"\n") == 3


@pytest.fixture(scope="module", params=["qwen3", "llama3", "mistral"])
def calling(request):
    """The bundled model with the chat template of a family."""
    template = (Path(__file__).parent / f"families/{request.param}.jinja").read_text()

    with pytest.MonkeyPatch.context() as patch:
        templates = {"tokenizer.chat_template": template}
        patch.setattr(model_module, "read_metadata", lambda *_: (templates, 1))
        model = GGUFModel(str(llama.gguf_file()), threads=1)
    return FAMILIES[request.param], model


def test_calls_are_read_in_the_form_of_the_template(calling):
    family, model = calling
    form = model._model.call_form
    looked = as_text([Call("look", {"place": "door", "times": 2})], "I look.")
    assert form.read(f"I look.\n{family.call}", [LOOK]) == looked


ACT, CUT = Call("act", {"actions": ["Up"]}), Call("act", '{"actions": ["Up", "Le')


def test_no_calls_make_the_next_request_fail(calling):
    _, model = calling
    env = gymnasium.make("ragen/Sokoban-v0", response_format="tools").unwrapped
    env.reset(seed=0)
    said = [as_text(calls) for calls in ([ACT], [CUT], [ACT, CUT], [ACT, ACT], [Call("look", {})])]
    read = [f"observation {number}" for number in range(len(said) + 1)]
    # Reading takes most of the time, so one conversation has them all.
    request = Request(conversation(read, said, "tools"), "key", env)
    [answer] = ask_all(model, [request], dataclasses.replace(GREEDY, stop="", max_tokens=1))
    assert answer.prompt_tokens > 20


def test_a_template_without_functions_is_refused(gguf):
    env = gymnasium.make("ragen/Sokoban-v0", response_format="tools").unwrapped
    env.reset(seed=0)
    request = Request(conversation(["one"], [], "tools"), "key", env)
    with pytest.raises(UserError, match="does not describe functions; remove --format tools"):
        ask_all(gguf, [request], dataclasses.replace(GREEDY, stop=""))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "there is no file '{}'; gguf/PATH wants the path of a GGUF file"),
        (b"", "'{}' is not a GGUF file"),
        (b"PK\3\4", "'{}' is not a GGUF file"),
        (b"GGUF", "'{}' is not a whole GGUF file; copy it again"),
        (
            b"GGUF\3\0\0\0" + bytes(16),
            "'{}' has no chat template; evaluate an instruction-tuned model",
        ),
        (
            b"GGUF\3\0\0\0"
            + bytes(8)
            + b"\1"
            + bytes(7)
            + b"\x17"
            + bytes(7)
            + b"tokenizer.chat_template\x08\0\0\0\1"
            + bytes(7)
            + b"a",
            "llama.cpp cannot load '{}'; is the file whole, and does it fit into memory?",
        ),
    ],
)
def test_a_file_that_is_not_a_model_is_refused(tmp_path, content, says):
    file = tmp_path / "model.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError) as caught:
        resolve(f"gguf/{file}")
    assert str(caught.value) == says.format(file)


def test_a_torn_file(tmp_path):
    file = tmp_path / "model.gguf"
    file.write_bytes(llama.gguf_file().read_bytes()[:30_000_000])
    with pytest.raises(UserError, match="cannot load"):
        GGUFModel(str(file))


def test_the_command_refuses_in_one_line(tmp_path):
    done = run("evaluate", "gguf/nowhere.gguf", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("ragen-bench: there is no file 'nowhere.gguf'")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_one_line_names_it(tmp_path):
    program = (
        "import sys; sys.modules['xllamacpp'] = None; sys.argv[1:] = ['doctor', 'gguf/m']\n"
        "from ragen_bench.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "pip install 'ragen-bench[gguf]'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
