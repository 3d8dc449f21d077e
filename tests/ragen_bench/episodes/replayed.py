"""Records to replay, and what a reader or a replay says of them."""

import json

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.episodes.replay import replay
from ragen_bench.models import Completion
from ragen_bench.runs.checked import BadRecordError, read_config, read_episode
from ragen_bench.suites import make_env
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.registration import IDS

EVALUATION = Evaluation(
    model="random",
    suite="",
    instances=dict.fromkeys(IDS, 4),
    split="test",
    response_format="think",
    samples=3,
    seed=5,
    temperature=1.0,
    max_tokens=8,
)


ODD = (
    "",
    "<answer>Up</answer>",
    "\ud800",
    "<think>a</think><answer>Fly || Up</answer>",
    "<think>a</think><answer>Search[ Any \u00e4 words ]</answer>",  # runs in WebShop
)


def play(env, index, sample, answer, form="think", seed=5):
    """Play an episode as the runner does; `answer` makes completions from the environment."""
    made = make_env(env, "test", form)
    episode = Episode(Task(env, "test", index, sample), seed, made, form)
    while not episode.over:
        episode.take(answer(made))
    return episode.record().as_json()


def mixed(stream):
    """A player that sometimes plays well, sometimes at random and sometimes breaks the form."""

    def answer(env):
        roll = stream.below(10)
        if roll < 3:
            text = ODD[stream.below(len(ODD))]
        else:
            text = oracle_answer(env) if roll < 6 else random_answer(env, stream)
        finish = "length" if stream.below(4) == 0 else "stop"
        return Completion(text, stream.below(500), stream.below(8), finish)

    return answer


def with_changes(config, **changes):
    return read_config({**config.as_json(), **changes})


def problem_of(config, record):
    """Return what is wrong with a record of untrusted JSON, as a reader or a replay of it says."""
    try:
        episode = read_episode(record)
    except BadRecordError as error:
        return str(error)
    ((key, problem),) = replay(config, [episode])
    assert key == (record["env"], record["split"], record["index"], record["sample"])
    return problem


def through_json(record):
    return json.loads(json.dumps(record))
