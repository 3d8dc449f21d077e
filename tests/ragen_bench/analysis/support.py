"""Episodes from scripted answers, recorded and replayed."""

from ragen_bench.analysis import Failure, find_failure, replay_episode
from ragen_bench.analysis.failures import find_labeler
from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.replay import Replayer
from ragen_bench.models import Completion, RequestFailure
from ragen_bench.runs.checked import read_config
from ragen_bench.runs.specification import config_problem
from ragen_bench.suites import held_out_size, make_env
from ragen_envs.core.policies import oracle_answer
from ragen_envs.registration import IDS

WIN = None
"""The label of a success."""
LETTERS = {"U": "Up", "D": "Down", "L": "Left", "R": "Right", "?": "Jump"}


def config(form="plain", samples=32):
    """A run of everything that there is to play; its hashes are empty, as nobody asks for them."""
    run = read_config(
        {
            "schema": 1,
            "model": "scripted",
            "model_identity": {},
            "slots": 1,
            "group_size": 1,
            "suite": "",
            "suite_version": 0,
            "suite_hash": "",
            "split": "test",
            "samples": samples,
            "seed": 0,
            "temperature": 0.0,
            "max_tokens": 9,
            "response_format": form,
            "history": None,
            "constrained": False,
            "prompt_hash": "",
            "envs": [{"id": env, "instances": held_out_size(env), "spec_hash": ""} for env in IDS],
            "versions": {},
            "command": "",
        }
    )
    assert config_problem(run) is None
    return run


def moves(letters):
    """Write an answer in short: "UL?" is Up || Left || Jump."""
    return " || ".join(LETTERS[letter] for letter in letters)


def turns(script):
    """Read "LU . R": Left and Up, an empty answer, Right."""
    return [moves(letters.replace(".", "")) for letters in script.split()]


def record(env, index, answers, sample=0, form="plain"):
    """Return the record of an episode; the answers are texts, outcomes, or "oracle"."""
    made = make_env(f"ragen/{env}-v0", "test", form)
    episode = Episode(Task(f"ragen/{env}-v0", "test", index, sample), 0, made, form)
    scripted = iter([] if answers == "oracle" else answers)
    while not episode.over:
        answer = oracle_answer(made) if answers == "oracle" else next(scripted)
        if isinstance(answer, RequestFailure):
            episode.give_up(answer.reason)
        else:
            episode.take(answer if isinstance(answer, Completion) else Completion(answer))
    assert next(scripted, None) is None, "answers beyond the end"
    return episode.record()


def played(env, index, answers, sample=0, form="plain"):
    """Return the episode, replayed."""
    found = record(env, index, answers, sample, form)
    return replay_episode(Replayer(config(form)), found, find_labeler(found.env).read_state)


def check(episode, wanted):
    """Compare an episode's failure with a label and its turn, or with `WIN`."""
    assert find_failure(episode) == (wanted and Failure(*wanted))
