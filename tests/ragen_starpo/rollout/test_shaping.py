"""What is added to an environment's reward, and what cannot be earned by words."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.analysis import replay_episode
from ragen_bench.analysis.failures import find_labeler
from ragen_bench.analysis.reasoning import Reasoning
from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.replay import Replayer
from ragen_bench.errors import UserError
from ragen_bench.models.base import Completion
from ragen_bench.suites import make_env
from ragen_envs.core.failures import FinishedEpisode
from ragen_envs.core.protocol import format_answer
from ragen_envs.core.scene import Scene
from ragen_envs.games.sokoban.rules import ACTIONS
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.sections import ShapingSettings
from ragen_starpo.rollout.shaping import make_reward, plan_agreement, true_claims
from tests.ragen_bench.analysis.support import config
from tests.ragen_bench.analysis.thoughts import BANDIT, FROZEN_LAKE, SOKOBAN

ROOM = Scene(
    {
        "me": frozenset({(3, 2)}),
        "box": frozenset({(2, 2)}),
        "target": frozenset({(4, 4)}),
        "wall": frozenset({(0, 0), (3, 1)}),
    },
    corners=(1, 4, 1, 4),
    coordinates=True,
)
TRUE = ["The box is above me.", "I am left of the target.", "The target is below the box."]
FALSE = ["The box is below me.", "I am right of the target.", "The target is above the box."]
PAIRS = 3
THOUGHTS = {"Sokoban": SOKOBAN, "FrozenLake": FROZEN_LAKE, "Bandit": BANDIT}
WEIGHTS = st.floats(0, 2)


def turn(thought, *actions, valid=True):
    answer = format_answer(actions, "think", thought)
    return SimpleNamespace(
        answer=answer,
        reasoning="",
        actions=list(actions) if valid else [],
        format_is_valid=valid,
        reward=0.0,
    )


def playing(game, answers, index=3):
    """Yield an episode that waits for each of the answers, and then the turn as it went."""
    made = make_env(f"ragen/{game}-v0", "test", "think")
    episode = Episode(Task(f"ragen/{game}-v0", "test", index, 0), 0, made, "think")
    yield episode
    for answer in answers:
        if not episode.over:
            episode.take(Completion(answer))
            yield episode.last_turn


def shaped(weights, game, answers):
    """Return an episode, and its turns with their rewards."""
    play = playing(game, answers)
    episode = next(play)
    reward = make_reward(weights, episode)
    return episode, [(turn, reward(turn)) for turn in play]


@given(
    st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=6),
    st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=6),
)
def test_a_plan_agrees_as_far_as_the_shorter_one_goes(planned, answered):
    found = plan_agreement(turn(f"Plan: {' || '.join(planned)}", *answered), ACTIONS, 6)
    if planned == list(ACTIONS):  # a list of what there is to do
        assert found == 0
    else:
        same = all(a == b for a, b in zip(planned, answered, strict=False))
        assert found == (1 if same else -1)


def test_where_an_answer_is_one_action_the_last_one_that_is_named_is_the_plan():
    answered = turn("Plan: Up || Left", "Left")
    assert plan_agreement(answered, ACTIONS, 1) == 1
    assert plan_agreement(answered, ACTIONS, 2) == -1


@pytest.mark.parametrize(
    "silent",
    [turn("I am not sure.", "Up"), turn("", "Up"), turn("So up."), turn("So up.", valid=False)],
)
def test_without_a_plan_or_an_action_there_is_nothing_to_agree(silent):
    assert plan_agreement(silent, ACTIONS, 5) == 0


@given(st.lists(st.tuples(st.integers(0, PAIRS - 1), st.booleans()), max_size=12))
def test_claims_count_once_for_each_pair_and_a_false_one_spoils_it(said):
    thought = " ".join((TRUE if true else FALSE)[pair] for pair, true in said)
    signs = [
        min(1 if true else -1 for p, true in said if p == pair) for pair, _ in dict(said).items()
    ]
    wanted = sum(signs) / len(signs) if signs else 0
    assert true_claims(turn(thought, "Up"), ROOM) == pytest.approx(wanted)


@given(st.sampled_from(TRUE + FALSE), st.integers(1, 9))
def test_repeating_a_claim_earns_nothing(claim, times):
    once = true_claims(turn(claim, "Up"), ROOM)
    assert true_claims(turn(f"{claim} " * times, "Up"), ROOM) == once
    assert abs(once) == 1


@pytest.mark.parametrize(
    ("thought", "worth"),
    [
        ("The box is not nine squares above me.", 0),
        ("There is no wall to the right of me.", 0),
        ("The box is not above me.", -1),
        ("The box is not left of me. The box is above me.", 1),
        ("I have to think about it.", 0),
        ("If the box is above me, I push it.", 0),
    ],
)
def test_to_deny_is_cheap(thought, worth):
    assert true_claims(turn(thought, "Up"), ROOM) == worth


def test_without_a_board_or_a_form_nothing_is_claimed():
    assert true_claims(turn(TRUE[0], "Up"), None) == 0
    assert true_claims(turn(TRUE[0], "Up", valid=False), ROOM) == 0


def test_claims_are_about_the_board_that_the_player_saw():
    """The player steps left, back, and left: what is true before a turn is false after it."""
    found = []
    for places in ("(2, 2)", "(2, 1)"):
        thought = f"I am at {places}."
        answers = [format_answer([move], "think", thought) for move in ("Left", "Right", "Left")]
        _, turns = shaped(ShapingSettings(true_claims=1), "SokobanCoord", answers)
        found.append([round(reward - turn.reward, 6) for turn, reward in turns])
    assert found == [[1, -1, 1], [-1, 1, -1]]


@given(WEIGHTS, WEIGHTS, WEIGHTS, WEIGHTS, st.sampled_from(sorted(THOUGHTS)), st.data())
def test_the_weights_add_up(form, cost, plan, claims, game, data):
    """Against the same turns, each term alone."""
    thoughts = data.draw(st.lists(st.sampled_from(THOUGHTS[game]), min_size=1, max_size=5))
    moves = st.sampled_from([*ACTIONS, "nonsense </answer> here"])
    answers = [format_answer([data.draw(moves)], "think", one.text) for one in thoughts]
    weights = {"format_penalty": form, "turn_cost": cost, "plan_agreement": plan}
    weights["true_claims"] = claims
    _, turns = shaped(ShapingSettings(**weights), game, answers)
    alone = {name: shaped(ShapingSettings(**{name: 1}), game, answers)[1] for name in weights}
    plain = shaped(ShapingSettings(), game, answers)[1]
    for number, (turn, reward) in enumerate(turns):
        assert plain[number][1] == turn.reward
        parts = {name: alone[name][number][1] - turn.reward for name in weights}
        assert parts["turn_cost"] == pytest.approx(-1)
        assert parts["format_penalty"] == pytest.approx(turn.format_is_valid - 1)
        assert max(abs(parts["plan_agreement"]), abs(parts["true_claims"])) <= 1 + 1e-9
        wanted = turn.reward + sum(weights[name] * part for name, part in parts.items())
        assert reward == pytest.approx(wanted)


def test_one_action_a_turn_is_the_last_that_the_plan_names():
    """As in the Bandit, whose turns take one; two would have to agree in order."""
    episode = next(playing("Bandit", []))
    instance = episode.env.get_instance(episode.task.index)
    whole = FinishedEpisode(env=episode.env, instance=instance, steps=(), outcome="")
    first, last = find_labeler(episode.task.env).list_actions(whole)
    found = []
    for arm in (first, last):
        answers = [format_answer([arm], "think", f"Plan: {first}, then {last}.")]
        _, ((turn, reward),) = shaped(ShapingSettings(plan_agreement=1), "Bandit", answers)
        found.append(reward - turn.reward)
    assert found == pytest.approx([-1.0, 1.0])


@given(st.sampled_from(sorted(THOUGHTS)), st.data())
def test_what_is_rewarded_is_what_the_analysis_counts(game, data):
    answers = []
    names = ("Up", "Left", "Teacher", "Dragon")
    for _ in range(5):
        thought = data.draw(st.sampled_from(THOUGHTS[game])).text
        answers.append(format_answer([data.draw(st.sampled_from(names))], "think", thought))
    episode, turns = shaped(ShapingSettings(plan_agreement=1), game, answers)
    while not episode.over:
        episode.take(Completion("?"))
    signs = [round(reward - turn.reward) for turn, reward in turns]
    record = episode.record()
    labeler = find_labeler(record.env)
    measured = Reasoning(labeler)
    measured.add(replay_episode(Replayer(config("think")), record, labeler.read_state))
    plans = measured.measures()["plans"]
    assert (signs.count(1), signs.count(-1)) == (plans["agree"], plans["differ"])


@pytest.mark.parametrize("form", ["answer", "plain"])
@pytest.mark.parametrize("term", ["plan_agreement", "true_claims"])
def test_forms_without_thoughts_are_refused(form, term):
    settings = {"model": "m", "envs": ["Bandit-v0"], "response_format": form}
    with pytest.raises(UserError) as refused:
        recipe_of({**settings, "shaping": {term: 0.1}}, "r.toml")
    assert str(refused.value) == (
        "r.toml: shaping: plan_agreement and true_claims read thoughts, which the format "
        f"{form!r} lacks; set response_format=think, or both to 0"
    )
    assert recipe_of({**settings, "shaping": {"turn_cost": 0.1}}, "r.toml").shaping.turn_cost == 0.1
    thinks = {**settings, "response_format": "think", "shaping": {term: 0.1}}
    assert recipe_of(thinks, "r.toml").shaping.reads_thoughts


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
@pytest.mark.parametrize("term", sorted({*vars(ShapingSettings())} - {"python"}))
def test_weights_that_cannot_be(term, weight):
    settings = {"model": "m", "envs": ["Bandit-v0"], "shaping": {term: weight}}
    with pytest.raises(UserError, match=f"{term}: is at least 0 and finite, got"):
        recipe_of(settings, "r.toml")


@pytest.mark.parametrize("tag", ["<think>", "<thinking>", "</thinking>", "<answer>"])
@pytest.mark.parametrize("place", ["{tag} {thought}", "{thought} {tag}", "I {tag} so. {thought}"])
def test_a_thought_that_names_a_tag_is_read_to_its_end(tag, place):
    claim = turn(place.format(tag=tag, thought=TRUE[0]), "Up")
    assert true_claims(claim, ROOM) == 1
    assert true_claims(turn(place.format(tag=tag, thought=FALSE[0]), "Up"), ROOM) == -1
    plan = "Plan: Up || Left."
    assert plan_agreement(turn(place.format(tag=tag, thought=plan), "Up", "Left"), ACTIONS, 5) == 1
    assert plan_agreement(turn(place.format(tag=tag, thought=plan), "Down"), ACTIONS, 5) == -1


def test_a_thought_ends_where_it_is_closed_first():
    claim = turn(f"{TRUE[0]}</think>{FALSE[1]}", "Up")
    assert true_claims(claim, ROOM) == 1
