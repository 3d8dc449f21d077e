"""Asks vLLM in process and writes down what it answers; run in vLLM's environment.

As a program: `answers.py MODEL-FOLDER FILE`.
"""

import dataclasses
import json
import sys
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.models.base import ask_all
from ragen_bench.models.vllm.model import VLLMModel

from .questions import (
    CONTEXT,
    FIRST_TOKEN,
    FIRST_TOKENS,
    FORCED,
    GREEDY,
    SAMPLED,
    first_turns,
    many_times,
    question,
    short_questions,
)

SLOTS = 4


def asked(model, requests, sampling):
    return [dataclasses.asdict(answer) for answer in ask_all(model, requests, sampling)]


def stopped_early(model, answer):
    """Stop within an answer that is known."""
    stop = answer["text"][8:11]
    sampling = dataclasses.replace(GREEDY, stop=stop)
    [cut] = asked(model, short_questions()[:1], sampling)
    return {"stop": stop, "whole": answer, "cut": cut}


def at_the_brim(model):
    """Ask with a conversation that fills the context, or would but for a token."""
    text = "Go"
    limit = 4
    while len(model._chat.tokenize(question(text).messages)) < CONTEXT - limit:
        text += " go"
    sampling = dataclasses.replace(GREEDY, max_tokens=limit)
    asked_first = [question(text + " go", "too long"), question(text, "fits"), question("Wet.")]
    return asked(model, asked_first, sampling)


def refusal(model, max_tokens):
    """Return what is said if answers may have so many tokens."""
    try:
        model.engine(dataclasses.replace(GREEDY, max_tokens=max_tokens)).close()
    except UserError as error:
        return str(error)
    return ""


def closed_in_the_middle(model):
    """Let go of an engine that has requests in flight, and ask another one."""
    engine = model.engine(GREEDY)
    engine.submit(question("Say no more than yes.", "short"))
    for request in short_questions()[:3]:
        engine.submit(request)
    early = [request.key for request, _ in engine.collect()]
    try:
        model.engine(GREEDY)
    except RuntimeError as error:
        refused = str(error)
    else:
        refused = ""
    engine.close()
    return {
        "early": early,
        "refused": refused,
        "after": asked(model, short_questions(), GREEDY),
    }


def main(folder, file):
    model = VLLMModel(folder, slots=SLOTS, dtype="float32")
    greedy = asked(model, short_questions(), GREEDY)
    other_seed = dataclasses.replace(SAMPLED, seed=4)
    written = {
        "identity": model.identity(),
        "probe": model.probe(),
        "slots": [model.slots, model.group_size],
        "greedy": greedy,
        "stopped": stopped_early(model, greedy[0]),
        "sampled": asked(model, short_questions(), SAMPLED),
        "sampled_alone": [asked(model, [one], SAMPLED)[0] for one in short_questions()],
        "sampled_with_another_seed": asked(model, short_questions(), other_seed),
        "first_tokens": asked(model, many_times(FIRST_TOKENS), FIRST_TOKEN),
        "forced": asked(model, first_turns(), FORCED),
        "brim": at_the_brim(model),
        "refusals": [refusal(model, tokens) for tokens in (CONTEXT - 1, CONTEXT)],
        "closed": closed_in_the_middle(model),
        "sampled_again": asked(model, short_questions(), SAMPLED),
    }
    Path(file).write_text(json.dumps(written))


if __name__ == "__main__":
    main(*sys.argv[1:])
