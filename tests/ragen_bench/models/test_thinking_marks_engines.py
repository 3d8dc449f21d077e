"""Engines read thoughts in the marks of their model: by the option, or by what is known of it."""

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models import Request, ServerOptions, ask_all
from ragen_bench.models.api.server_model import OpenAIModel
from ragen_bench.models.reasoning import ThoughtReader
from ragen_bench.opponents.opponent import Opponent, load
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.options import parse_options
from ragen_bench.settings.run_names import default_path
from ragen_bench.suites import make_env

from .api import hosted
from .api.client import GREEDY
from .families import FAMILIES

UP = "<answer>Up</answer>"
MESSAGES = [{"role": "user", "content": "Up or Left?"}]


def answer(text, response_format, thinking_marks):
    """Return a server's answer, and how the model is recorded."""
    env = make_env("ragen/Sokoban-v0", "val", response_format)
    with hosted.running() as stub:
        stub.answer = text
        options = ServerOptions(base_url=stub.url, retries=0)
        model = OpenAIModel(hosted.NAME, options, thinking_marks=thinking_marks)
        [made] = ask_all(model, [Request(MESSAGES, "one", env)], GREEDY)
        return made, model.identity().get("thinking_marks")


@pytest.mark.parametrize(
    "name", ["magistral", "kimi", "gpt-oss", "seed-oss", "cohere", "granite32"]
)
def test_a_server_without_a_parser_of_thoughts(name):
    text, marks = FAMILIES[name].write(f"Say {UP}?", UP), name.removesuffix("32")
    made, recorded = answer(text, "think", marks)
    assert (made.text, recorded) == (f"<think>Say  Up ?</think>{UP}", marks)
    made, _ = answer(text, "answer", marks)
    assert (made.text, made.reasoning) == (UP, f"Say {UP}?")
    assert answer(text, "think", "")[0].text.startswith(text[:8])  # nobody names the marks


def test_a_server_whose_template_opens_the_thought():
    made, recorded = answer(f"Above.</think>{UP}", "think", "")
    assert (made.text, recorded) == (f"<think>Above.</think>{UP}", None)


def test_the_option_names_a_run_and_its_model():
    options = {"model": "hf/x", "env": "Bandit-v0", "thinking_marks": "magistral"}
    evaluation = build_evaluation(parse_options(options))
    assert evaluation.thinking_marks == "magistral"
    assert "_marks-magistral" in str(default_path(evaluation))
    for changed, says in (
        ({"model": "random"}, "--thinking-marks does not work with random"),
        ({"thinking_marks": "magistrel"}, "unknown name of --thinking-marks"),
    ):
        with pytest.raises(UserError, match=says):
            build_evaluation(parse_options({**options, **changed}))


def test_an_opponents_marks_are_chosen_as_the_players_are(monkeypatch):
    options = {"model": "openai/a", "env": "TwentyQuestionsModel-v0", "base_url": "http://a/v1"}
    options |= {"thinking_marks": "kimi", "opponent": "openai/b"}
    evaluation = build_evaluation(parse_options({**options, "opponent_thinking_marks": "seed"}))
    assert evaluation.opponent.thinking_marks == "seed"
    assert "_vs-marks-seed" in str(default_path(evaluation))
    server = evaluation.server

    def marks_of(opponent):
        pair = load("openai/a", server, opponent, thinking_marks="kimi")
        return [model.identity()["thinking_marks"] for model in (pair.player, pair.opponent)]

    monkeypatch.setattr(OpenAIModel, "probe", lambda model: setattr(model, "_entry", {}))
    assert marks_of(evaluation.opponent) == ["kimi", "seed-oss"]
    assert marks_of(Opponent("openai/a", "think", server)) == ["kimi", "kimi"]
    assert marks_of(Opponent("openai/a", "think", server, "seed")) == ["kimi", "seed-oss"]
    for changed, says in (
        ({"opponent": "oracle"}, "--opponent-thinking-marks does not work with oracle"),
        ({"opponent_thinking_marks": "x"}, "unknown name of --opponent-thinking-marks 'x'"),
    ):
        with pytest.raises(UserError, match=says):
            build_evaluation(
                parse_options({**options, "opponent_thinking_marks": "seed", **changed})
            )


@pytest.mark.parametrize("name", ["qwen3-thinking", "exaone-deep", "qwen3"])
def test_a_demonstration_goes_on_from_an_opened_thought(name):
    family = FAMILIES[name]
    tokenizer = family.tokenizer()
    text = tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True)
    prompt = tokenizer(text, add_special_tokens=False)["input_ids"]
    reader = ThoughtReader(tokenizer)
    end = family.thought.partition("{}")[2].strip()
    wanted = f"Above.{end}{UP}" if family.opens else f"<think>Above.</think>{UP}"
    assert reader.continue_opening(f"<think>Above.</think>{UP}", prompt) == wanted
    assert reader.continue_opening(UP, prompt) == (f"{end}{UP}" if family.opens else UP)
