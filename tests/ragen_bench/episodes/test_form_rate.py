"""Answers out of form: why, what to do, and that a run says so once while it plays."""

import dataclasses

import pytest

from ragen_bench.audit.doctor import examine
from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.episodes.form_rate import FormRate
from ragen_bench.models import Completion, resolve
from ragen_bench.terminal.console import plain_console
from ragen_bench.terminal.results import show_results
from ragen_envs.core.policies import oracle_answer
from tests.ragen_bench.players import Player

SETTINGS = Evaluation(
    model="python:somebody:answer",
    suite="",
    instances={"ragen/Bandit-v0": 12},
    split="test",
    response_format="think",
    samples=1,
    seed=0,
    temperature=0.5,
    max_tokens=64,
)
CUT = Completion("<think>Well", finish="length")


def rate_of(form, *answers, valid=0, model="hf/some", **place):
    rate = FormRate(dataclasses.replace(SETTINGS, response_format=form, model=model), **place)
    for answer in answers:
        rate.add(answer if isinstance(answer, Completion) else Completion(answer), False)
    for _ in range(valid):
        rate.add(Completion("<think></think><answer>Up</answer>"), True)
    return rate


@pytest.mark.parametrize(
    ("form", "answer", "says"),
    [
        ("think", "I go up.", "had no <answer>; run doctor, or try --format answer"),
        ("answer", "I go up.", "had no <answer>; run doctor, or try --format plain"),
        ("tools", "I go up.", "made no call of a function; run doctor, or try --format answer"),
        (
            "plain",
            "I go up.",
            "are not in the form of the game; run doctor, or try --format answer",
        ),
        (
            "think",
            "<answer>Up</answer> I hope.",
            "had <answer> and not the whole form around it; run doctor, or try --format answer",
        ),
        (
            "tools",
            "<tool_call>{</tool_call>",
            "had <tool_call> and not the whole form around it; run doctor, or try --format answer",
        ),
        ("think", " \n", "were empty; run doctor, and check the model's chat template"),
        ("think", CUT, "were cut at 64 tokens; raise --max-tokens, or run doctor, or try"),
        (
            "answer",
            Completion("", finish="filtered"),
            "were refused, or ended by the provider's filter; run doctor",
        ),
        ("answer", CUT, "were cut at 64 tokens; raise --max-tokens, or run doctor"),
    ],
)
def test_a_cause_and_what_to_do(form, answer, says):
    assert rate_of(form, *[answer] * 9, valid=1).report.startswith(f"9 of 10 answers {says}")


@pytest.mark.parametrize(
    "mark",
    [
        *(
            "[THINK]",
            "<|channel>",
            "<|channel|>",
            "<seed:think>",
            "<|START_THINKING|>",
            "<thought>",
        ),
        *("<thinking>", "◁think▷", "<reasoning>", "<|think|>", "<analysis>", "<THINK>"),
    ],
)
def test_marks_of_thoughts_that_are_not_read(mark):
    rate = rate_of("answer", *[f"{mark}Up. <answer>Up</answer>"] * 10)
    assert rate.report == (
        f"10 of 10 answers had thoughts in marks that are not read here, such as {mark}; give them "
        "by --thinking-marks 'OPEN CLOSE', or run doctor, or try --format plain"
    )


@pytest.mark.parametrize(
    ("begin", "end", "marks"),
    [
        ("[THINK]", "[/THINK]", "magistral"),
        ("Here is my thought process: ", "Here is my response:", "granite"),
        ("<|inner_prefix|>", "<|inner_suffix|>", "apertus"),
        ("analysis", "assistantfinal", "gpt-oss"),
    ],
)
def test_known_marks_are_advised(begin, end, marks):
    answers = ["Hm.", *[f"{begin}Up.{end}<answer>Up</answer>"] * 9]
    advice = f"; add --thinking-marks {marks}"
    assert rate_of("answer", *answers).report.endswith(advice)
    assert rate_of("think", *answers).report.endswith(advice)
    assert f"--thinking-marks {marks}" not in rate_of("plain", *answers).report


@pytest.mark.parametrize(
    "answer",
    ["I think [the] reason is: <b>x</b> a < thinking", "<answer>Up</answer>!", "[1] think"],
)
def test_words_about_thoughts_are_not_marks(answer):
    assert "marks" not in rate_of("answer", *[answer] * 10).report


MARKED, CALLED = "[THINK]Up.[/THINK]<answer>Up</answer>", "<|tool_call|>act(Up)"
PARSER = "start the server with its parser of calls (vLLM: --tool-call-parser)"


@pytest.mark.parametrize(
    ("model", "form", "answer", "place", "advice"),
    [
        ("python:a:b", "think", "Up", {}, "run doctor, or try --format answer"),
        ("python:a:b", "answer", MARKED, {}, "run doctor, or try --format plain"),
        ("python:a:b", "answer", "", {}, "run doctor, and check what the agent returns"),
        ("demo-agent", "answer", "Up", {}, "run doctor"),
        ("hf/x", "plain", "Up", {"states_form": True}, "run doctor"),
        ("hf/x", "plain", "Up", {"states_form": True, "in_doctor": True}, "look at the answers"),
        ("hf/x", "answer", "", {"in_doctor": True}, "check the model's chat template"),
        ("hf/x", "answer", CUT, {"in_doctor": True}, "raise --max-tokens"),
        (
            *("openai/x", "answer", Completion("", finish="filtered"), {"in_doctor": True}),
            "read the provider's rules, or choose another model",
        ),
        (
            *("hf/x", "answer", MARKED, {"option": "--opponent-format", "in_doctor": True}),
            "add --opponent-thinking-marks magistral",
        ),
        ("openai/x", "tools", CALLED, {}, f"{PARSER}, or run doctor, or try --format answer"),
        ("openai/x", "tools", CALLED, {"in_doctor": True}, f"{PARSER}, or try --format answer"),
        ("hf/x", "tools", CALLED, {}, "run doctor, or try --format answer"),
        ("gone/x", "think", MARKED, {}, "run doctor, or try --format answer"),
    ],
)
def test_advice_is_what_its_reader_can_do(model, form, answer, place, advice):
    report = rate_of(form, *[answer] * 10, model=model, **place).report
    assert report.rpartition("; ")[2].startswith(advice)
    assert report.endswith(advice) or "look at" in advice
    assert "doctor" not in report or not place.get("in_doctor")


@pytest.mark.parametrize(
    "text",
    [
        "<|tool_call|>x",
        "[TOOL_CALLS]x",
        '{"name": "a", "arguments": {',
        "<function=a>",
        "to=functions.a",
    ],
)
def test_calls_that_are_not_read_are_a_problem_of_their_own(text):
    assert "wrote calls in a form that is not read here" in rate_of("tools", *[text] * 10).report
    assert "wrote calls" not in rate_of("answer", *[text] * 10).report


def test_several_causes_come_by_their_number():
    rate = rate_of("think", *["Up"] * 3, *[CUT] * 5, "", valid=1)
    assert rate.report == (
        "9 of 10 answers are out of form: 5 were cut at 64 tokens, 3 had no <answer>, 1 were "
        "empty; raise --max-tokens, or run doctor, or try --format answer"
    )


def test_there_are_at_least_ten_answers_and_more_than_half_of_them_are_out_of_form():
    assert not rate_of("think", *["Up"] * 9).report
    assert not rate_of("think", *["Up"] * 5, valid=5).report
    assert rate_of("think", *["Up"] * 6, valid=5).report
    rate = rate_of("think", *["Up"] * 10)
    assert rate.report_once() == rate.report
    assert not rate.report_once()


class Unformed(Player):
    """The first answers, or all of them, are out of form."""

    def __init__(self, out_of_form=999):
        self.left = out_of_form

    def complete(self, requests, sampling):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        self.left -= 1
        return Completion("Up" if self.left >= 0 else oracle_answer(request.env))


def test_a_run_says_so_once_and_the_table_repeats_it(tmp_path, capsys):
    said = []
    model = Unformed()
    model.slots = 1
    run = play_run(SETTINGS, model, tmp_path / "run", say=said.append)
    run.unlock()
    line = "of 10 answers had no <answer>; run doctor, or try --format answer"
    assert said == [f"Note: 10 {line}."]
    show_results(plain_console(), run, None)
    assert f"12 {line.replace('10', '12')}" in " ".join(capsys.readouterr().out.split())


def test_a_run_that_improves_says_so_and_its_table_does_not(tmp_path, capsys):
    said = []
    model = Unformed(6)
    model.slots = 1
    run = play_run(SETTINGS, model, tmp_path / "run", say=said.append)
    run.unlock()
    assert said == ["Note: 6 of 10 answers had no <answer>; run doctor, or try --format answer."]
    show_results(plain_console(), run, None)
    assert "had no <answer>" not in capsys.readouterr().out


def test_scripted_players_are_not_judged(tmp_path):
    said = []
    for name in ("random", "oracle"):
        evaluation = dataclasses.replace(SETTINGS, model=name)
        play_run(evaluation, resolve(name), tmp_path / name, say=said.append).unlock()
    rate = FormRate(dataclasses.replace(SETTINGS, model="random"))
    for _ in range(10):
        rate.add(Completion("x"), False)
    assert not said
    assert not rate.report


def test_doctor_names_the_causes():
    found = {finding.name: finding for finding in examine(SETTINGS, 4, Unformed())}
    assert found["form"].status == "warn"
    assert found["form"].detail == (
        "0 of 4 answers have it, 0 name known actions only; 4 of 4 answers had no <answer>; try "
        "--format answer; an invalid one: 'Up'"
    )
