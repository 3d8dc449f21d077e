"""Replaying records: equal ones are equal, changed ones are named, nothing is a traceback."""

import copy
import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.episodes.replay import Replayer, replay
from ragen_bench.errors import UserError
from ragen_bench.models import Completion, resolve
from ragen_bench.runs.checked import BadRecordError, read_config, read_episode
from ragen_bench.runs.config_check import config_differences, config_problem
from ragen_bench.suites import make_env
from ragen_envs.instances import Stream
from ragen_envs.policies import oracle_answer, random_answer
from ragen_envs.protocol import format_answer
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


@pytest.fixture(scope="module")
def configs():
    model = resolve("random")
    forms = ("think", "answer", "plain")
    return {
        form: dataclasses.replace(EVALUATION, response_format=form).config(model) for form in forms
    }


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


@pytest.fixture(scope="module")
def records():
    return [
        play(env, index, index % 3, mixed(Stream("replay", env, index)))
        for env in IDS
        for index in range(4)
    ]


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


def test_records_are_equal_to_their_replay(configs, records):
    results = list(replay(configs["think"], map(read_episode, map(through_json, records))))
    assert [problem for _, problem in results] == [None] * len(records)
    assert [key for key, _ in results] == [
        (r["env"], "test", r["index"], r["sample"]) for r in records
    ]


@pytest.mark.parametrize("form", ["think", "answer", "plain"])
def test_searches_in_words_of_ones_own_are_recorded_and_replayed(configs, form):
    words = iter(("Search[ Tripod  MOUNT\n]", "search[]", "search[a]b]", "click[back to search]"))

    def answer(env):
        said = next(words, "search[\u00e4\u00f6 100 %]")
        return Completion(format_answer([said], form, "so"))

    record = play("ragen/WebShop-v0", 0, 0, answer, form)
    actions = [turn["actions"] for turn in record["turns"]]
    assert actions[:4] == [["search[tripod mount]"], [], [], ["click[back to search]"]]
    assert actions[4:] == [["search[100 %]"], [], [], [], []]
    assert "Done: search[tripod mount]. Reward: 0." in record["turns"][1]["observation"]
    assert problem_of(configs[form], through_json(record)) is None
    record["turns"][0]["actions"] = ["search[tripod]"]
    assert problem_of(configs[form], record).startswith("turns[0].actions[0]: recorded ")


def changed(value):
    """Return values of every kind that are not equal to this one, even as Python has it."""
    others = [None, True, False, 0, 1, -1, 0.5, float("nan"), 10**30, "", "Up", [], ["Up"], {}]
    others += [f"{value}x" if isinstance(value, str) else "x", "\ud800" * 9, "y" * 10**4]
    return [one for one in others if one != value]


def paths(record):
    for name in record:
        yield (name,)
    for number, turn in enumerate(record["turns"]):
        for name in turn:
            yield "turns", number, name


CLAIMED = ("finish", "prompt_tokens", "completion_tokens")


def test_a_missing_field_is_found(configs, records):
    for path in paths(records[0]):
        record = copy.deepcopy(records[0])
        *inside, name = path
        holder = record
        for key in inside:
            holder = holder[key]
        if holder.pop(name) is not None:
            assert problem_of(configs["think"], record), path


@settings(max_examples=300)
@given(data=st.data())
def test_a_changed_field_is_found(configs, records, data):
    record = copy.deepcopy(data.draw(st.sampled_from(records), label="record"))
    path = data.draw(st.sampled_from(list(paths(record))), label="path")
    *inside, name = path
    holder = record
    for key in inside:
        holder = holder[key]
    value = data.draw(st.sampled_from(changed(holder[name])), label="value")
    before = holder[name]
    holder[name] = value
    problem = problem_of(configs["think"], record)
    if problem is None:
        # An answer may be worth another one, and what the model alone knows is not recomputed.
        assert name in (*CLAIMED, "answer")
        assert type(value) is type(before)
    else:
        assert (problem.isascii(), "\n" in problem, len(problem) < 300) == (True, False, True)
        holder[name] = before
        assert problem_of(configs["think"], record) is None


def test_an_edited_answer_shows_where_it_first_matters(configs):
    record = play("ragen/Sokoban-v0", 0, 0, lambda env: Completion(oracle_answer(env)))
    assert record["success"]
    record["turns"][0]["answer"] = "<think></think><answer>Up</answer>"
    problem = problem_of(configs["think"], record)
    assert problem == "turns: the episode goes on after turn 2, the last one"
    record["turns"] *= 2
    record["turns"][3]["answer"] = "<think></think><answer>Up || Up || Up || Up</answer>"
    assert problem_of(configs["think"], record) == (
        'outcome: recorded "success", recomputed "truncated"'
    )


def one_turn(index=0):
    return play("ragen/Sokoban-v0", index, 0, lambda env: Completion("nothing"))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            lambda r: r["turns"][2].update(reward=0),
            "turns[2].reward: recorded 0.0, recomputed -0.1",
        ),
        (lambda r: r.update(success=0), "has success 0, which is not true or false"),
        (lambda r: r.update(score=False), "has score false, which is not a number"),
        (lambda r: r.update(score=True), "has score true, which is not a number"),
        (lambda r: r.update({"return": float("nan")}), "has return NaN, which is not a number"),
        (lambda r: r.pop("optimal_length"), "optimal_length: recorded null, recomputed 8"),
        (lambda r: r["turns"].pop(), "turns: the episode goes on after turn 4, the last one"),
        (lambda r: r["turns"].clear(), "has no turn"),
        (
            lambda r: r["turns"].append(r["turns"][0]),
            "turns[5]: the episode ended a turn earlier",
        ),
        (
            lambda r: r.update(outcome="context_overflow"),
            "outcome: recorded context_overflow, but the episode ended with turn 5",
        ),
        (lambda r: r.update(outcome="success"), 'outcome: recorded "success", recomputed "inval'),
        (lambda r: r.update(turns=None), "has turns null, which is not a list"),
        (lambda r: r["turns"].insert(0, 7), "has turns[0] 7, which is not an object"),
        (lambda r: r["turns"][1].pop("answer"), "has turns[1], which lacks answer"),
        (lambda r: r["turns"][0].update(finish="context"), 'turns[0].finish: recorded "context"'),
        (
            lambda r: r["turns"][0].update(reasoning="hm"),
            "turns[0].reasoning: the model reasons by itself",
        ),
        (
            lambda r: r["turns"][0].update(prompt_tokens=-1),
            "has turns[0].prompt_tokens -1, which is below 0",
        ),
        (lambda r: r.update(index=4), "is of instance 4, sample 0, beyond run.json's"),
        (lambda r: r.update(sample=3), "is of instance 0, sample 3, beyond run.json's"),
        (lambda r: r.update(index=-1), "is of instance -1, sample 0, beyond run.json's"),
        (lambda r: r.update(index=True), "has index true, which is not a whole number"),
        (lambda r: r.update(sample=10**400), "has sample a huge number, which is too large"),
        (lambda r: r.update(env="ragen/Chess-v0"), 'is of "ragen/Chess-v0" "test", which run.json'),
        (lambda r: r.update(split="val"), 'is of "ragen/Sokoban-v0" "val", which run.json'),
        (lambda r: r.update(env=["x"]), "has env a list of 1, which is not a text"),
        (
            lambda r: r.update(final_observation=r["final_observation"][:-8] + "#" * 9**6),
            'final_observation: recorded ..."',
        ),
    ],
)
def test_the_reason_is_named(configs, edit, says):
    record = one_turn()
    edit(record)
    problem = problem_of(configs["think"], record)
    assert says in problem
    assert len(problem) < 250


@pytest.mark.parametrize("record", [None, 3, "x", [], {}, {"env": "ragen/Sokoban-v0"}])
def test_what_is_no_record_is_not_read(configs, record):
    assert problem_of(configs["think"], record).startswith(("is not an object", "lacks "))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(data=st.data())
def test_nothing_ends_in_a_traceback(configs, records, data):
    record = copy.deepcopy(data.draw(st.sampled_from(records)))
    for _ in range(data.draw(st.integers(1, 3))):
        *inside, name = data.draw(st.sampled_from(list(paths_of(record)) or [("env",)]))
        holder = record
        for key in inside:
            holder = holder[key]
        holder[name] = data.draw(JSON)
    problem = problem_of(configs["think"], record)
    assert problem is None or "\n" not in problem


def paths_of(record):
    """Yield the paths of an object that may no longer be a record."""
    for name in record:
        yield (name,)
    turns = record.get("turns")
    for number, turn in enumerate(turns if isinstance(turns, list) else []):
        yield "turns", number
        for name in turn if isinstance(turn, dict) else ():
            yield "turns", number, name


def test_one_bad_record_does_not_spoil_the_next(configs, records):
    given = [records[0], {**records[1], "score": 0.123}, records[1]]
    results = list(replay(configs["think"], map(read_episode, given)))
    assert [problem is None for _, problem in results] == [True, False, True]


def test_replaying_streams(configs, records):
    taken = []

    def source():
        for number, record in enumerate(records):
            taken.append(number)
            yield read_episode(record)

    results = replay(configs["think"], source())
    for number in range(5):
        next(results)
        assert taken == list(range(number + 1))


@pytest.mark.parametrize("turns", [0, 2])
def test_an_overflow_must_not_have_ended_by_itself(configs, turns):
    made = make_env("ragen/Sokoban-v0", "test", "think")
    episode = Episode(Task("ragen/Sokoban-v0", "test", 1, 0), 5, made, "think")
    for _ in range(turns):
        episode.take(Completion("nothing"))
    episode.take(Completion("", finish="context"))
    record = episode.record().as_json()
    assert problem_of(configs["think"], record) is None
    record["outcome"] = "truncated"
    problem = problem_of(configs["think"], record)
    goes_on = f"turns: the episode goes on after turn {turns}, the last one"
    assert problem == (goes_on if turns else "has no turn")


TAGS = st.sampled_from(
    ["<think>", "</think>", "<answer>Up</answer>", " ", "\n", "hm", "Up || Left"]
)


@settings(max_examples=40)
@given(
    st.lists(st.lists(TAGS, max_size=6).map("".join), min_size=5, max_size=5),
    st.sampled_from(["answer", "plain"]),
)
def test_models_that_reason_by_themselves_replay(configs, texts, form):
    answers = iter(texts)
    record = play("ragen/Sokoban-v0", 1, 2, lambda env: Completion(next(answers)), form)
    assert problem_of(configs[form], through_json(record)) is None


def test_the_seed_decides_the_noise(configs):
    records = [
        play("ragen/FrozenLake-v0", i, 0, lambda env: Completion(oracle_answer(env)))
        for i in range(4)
    ]
    other = with_changes(configs["think"], seed=6)
    assert all(problem_of(other, record) for record in records)


def test_walk_shows_the_environment_between_the_turns(configs):
    record = play("ragen/Sokoban-v0", 0, 0, lambda env: Completion(oracle_answer(env)))
    walked = Replayer(configs["think"]).walk(read_episode(record))
    shown = [episode.env.render() for episode in walked]
    told = [turn["observation"] for turn in record["turns"]] + [record["final_observation"]]
    assert len(shown) == len(told) == 3
    assert all(state in text for state, text in zip(shown, told, strict=True))


def test_the_configuration_is_recomputed(configs):
    config = configs["think"]
    assert list(config_differences(config)) == []
    edited = copy.deepcopy(config.as_json())
    edited["envs"][3]["spec_hash"] = "0" * 16
    edited["prompt_hash"] = "0" * 16
    found = list(config_differences(read_config(edited)))
    assert [one.partition(":")[0] for one in found] == ["prompt_hash", "envs[3].spec_hash"]
    fewer = with_changes(config, envs=config.as_json()["envs"][1:])
    assert [one.partition(":")[0] for one in config_differences(fewer)] == ["suite_hash"]
    assert next(config_differences(with_changes(config, history=1))).startswith("prompt_hash")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": 2}, "has schema 2, which only a newer ragen-bench reads (install one)"),
        ({"response_format": "xml"}, "has response_format \"xml\", which is not 'think', 'answer'"),
        ({"history": "all"}, 'has history "all", which is not a whole number'),
        ({"history": True}, "has history true, which is not a whole number"),
        ({"history": -1}, "has history -1, which is below 0"),
        ({"top_p": 0}, "has top_p 0, which is not above 0"),
        ({"seed": -1}, "has seed -1, which is below 0"),
        ({"samples": 0}, "has samples 0, which is below 1"),
        ({"split": []}, "has split a list of 0, which is not 'train', 'val', 'test' or 'sealed'"),
    ],
)
def test_a_configuration_of_another_form_is_refused(configs, change, says):
    with pytest.raises(BadRecordError) as caught:
        with_changes(configs["think"], **change)
    assert str(caught.value).startswith(says)


def test_a_configuration_that_no_run_can_have_is_refused(configs):
    twice = [{"id": IDS[0], "instances": 1, "spec_hash": ""}] * 2
    config = with_changes(configs["think"], envs=twice)
    assert config_problem(config) == "names an environment twice"
    with pytest.raises(UserError, match=r"^run\.json names an environment twice"):
        list(replay(config, []))
    with pytest.raises(UserError, match=r"^run\.json names an environment twice"):
        list(config_differences(config))
