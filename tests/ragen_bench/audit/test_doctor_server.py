"""What doctor says of servers: stand-ins that have one fault each."""

import pytest

from ragen_bench.cli import main
from tests.ragen_bench.models.api import hosted
from tests.ragen_bench.models.api.test_returned import DeepSeek, GoogleCompatible

LAKE = ["--env", "FrozenLake-v0", "--limit", "2", "--questions", "2", "--concurrency", "1"]
SAID = "<think>down</think><answer>Down</answer>"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789-secret")


def examined(capsys, stub, *options):
    """Return doctor's exit code and its findings by their names."""
    command = ["doctor", f"openai/{hosted.NAME}", *LAKE, "--base-url", stub.url, *options]
    code = main([*command, "--retries", "0"])
    lines = capsys.readouterr().out.splitlines()
    return code, {line.split()[1]: f"{line[:4].strip()} {line[16:]}" for line in lines}


class Counting(hosted.Hosted):
    """Counts words, and obeys the limit of tokens; `drops` returns a message as it is read."""

    def reads(self, messages):
        return messages

    def reply(self, body):
        self.answer, (status, reply) = SAID, super().reply(body)
        if status == 200:
            words = sum(len(str(m["content"]).split()) + 4 for m in self.reads(body["messages"]))
            tokens = min(7, body["max_tokens"])
            reply["usage"] = {"prompt_tokens": words, "completion_tokens": tokens}
        return status, reply


class Forgetful(Counting):
    def reads(self, messages):
        return [
            {**m, "content": m["content"].rpartition("</think>")[2]}
            if m["role"] == "assistant"
            else m
            for m in messages
        ]


@pytest.mark.parametrize(("kind", "says"), [(Counting, "ok no earlier"), (Forgetful, "warn its")])
def test_earlier_thoughts(capsys, kind, says):
    with hosted.running(kind) as stub:
        code, found = examined(capsys, stub)
    assert (code, found["thoughts"][: len(says)]) == (0, says)
    assert found["turns"] == "ok goes on after its own answer, and after an empty answer"
    assert found["overflow"] == "ok not checked: the model's context is not known"


def in_history(body, role="assistant"):
    return [m for m in body["messages"][3:] if m["role"] == role]


@pytest.mark.parametrize(
    ("refuses", "code", "says"),
    [
        (lambda body: in_history(body), 1, "FAIL refused after its own answer: "),
        (
            lambda body: any("(no" in m["content"] or not m["content"] for m in in_history(body)),
            0,
            "warn goes on after its own answer; refused after an empty answer: ",
        ),
    ],
)
def test_a_refused_second_turn(capsys, refuses, code, says):
    with hosted.running(Counting) as stub:
        stub.refuses = lambda body: (400, {"message": "no empty text"}) if refuses(body) else None
        got, found = examined(capsys, stub)
    assert got == code
    assert found["turns"].startswith(says)
    assert found["turns"].endswith("no empty text")


class Obeying:
    """Answers of few tokens, and calls that go down."""

    def call(self, number):
        reply = super().call(number)
        reply["usage"]["completion_tokens"] = 4
        return reply


class Signing(Obeying, GoogleCompatible):
    pass


class Thinking(Obeying, DeepSeek):
    pass


class Texting(Signing):
    """Has a template that shows no calls."""

    def check(self, body):
        return "the template has no tool role" * any("tool_calls" in m for m in body["messages"])


class Deaf(Signing):
    """Refuses each call that comes back."""

    def check(self, body):
        return "missing thing" * (len(body["messages"]) > 2)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Signing, "ok goes on after its own call, with extra_content, and after a broken call"),
        (Thinking, "ok goes on after its own call, with reasoning_content, and after a broken"),
        (Texting, "ok goes on after its own call, as text, and after a broken call"),
        (Deaf, "FAIL refused after its own call: "),
    ],
)
def test_what_goes_back_with_a_call(capsys, kind, says):
    with hosted.running(kind) as stub:
        code, found = examined(capsys, stub, "--format", "tools")
    assert found["turns"].startswith(says)
    assert code == (kind is Deaf)
    note = "refuses calls in a conversation; they stand there as text"
    assert (note in found.get("note", "")) == (kind is Texting)


def test_no_call_was_made(capsys):
    with hosted.running(Counting) as stub:
        code, found = examined(capsys, stub, "--format", "tools")
    assert code == 0
    assert found["turns"].startswith("warn goes on after its own answer (it made no call, so")
    assert "made no call" in found["form"]


OVERFLOWS = [
    ((400, {"message": "prompt is too long"}), "ok a conversation of more than 1000 tokens is kno"),
    ((400, {"message": "much too much"}), "warn a conversation of more than 1000 tokens is not k"),
    (None, "warn a conversation of more than 1000 tokens is answered, so the server cuts it"),
]


@pytest.mark.parametrize(("reply", "says"), OVERFLOWS)
def test_a_conversation_beyond_the_context(capsys, reply, says):
    with hosted.running(Counting) as stub:
        stub.listing = 200, {"data": [{"id": hosted.NAME, "max_model_len": 1000}]}
        stub.refuses = lambda body: reply if len(str(body["messages"]).split()) > 1000 else None
        code, found = examined(capsys, stub)
    assert (code, found["overflow"][: len(says)]) == (0, says)


def test_a_moderated_question_is_given_up_alone(capsys):
    with hosted.running(Counting) as stub:

        def refuse(body):
            return (403, {"message": "flagged"}) if len(stub.bodies) == 2 else None

        stub.refuses = refuse
        code, found = examined(capsys, stub)
    assert code == 0
    assert found["answers"].startswith("warn 1 of 2 questions; 1 given up, such as: ")
    assert found["answers"].endswith("flagged")
    with hosted.running(Counting) as stub:
        stub.refuses = lambda body: (500, {"message": "down"}) if len(stub.bodies) > 1 else None
        code, found = examined(capsys, stub)
    assert (code, found["model"][:5]) == (1, "FAIL ")
