import pytest
from gymnasium.error import ResetNeeded

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.core.protocol import RESPONSE_FORMATS
from tests.cases import first_fast
from tests.ragen_envs.support import (
    ID_FORMATS,
    IDS,
    SOKOBAN,
    TWENTY_QUESTIONS,
    WEBSHOP,
    chi_square,
    held_out_size,
    make,
    rare,
)


@pytest.mark.parametrize(("id_", "form"), ID_FORMATS)
@pytest.mark.parametrize("policy", ["random", "oracle"])
def test_answers_are_in_form_legal_and_within_the_budget(id_, form, policy):
    env = make(id_, split="val", response_format=form)
    stream = RandomStream("policy", id_)
    for seed in range(20):
        env.reset(seed=seed)
        while env.legal_actions:
            may, left = env.actions_this_turn, env.actions_left
            answer = random_answer(env, stream) if policy == "random" else oracle_answer(env)
            observation, reward, terminated, _, info = env.step(answer)
            assert info["format_is_valid"]
            assert info["action_is_valid"]
            assert not info["answer_is_example"]
            assert "not an action" not in observation
            named = answer.count("||") + 1
            assert named == may if policy == "random" else 1 <= named <= may
            ran = left - info["actions_left"]
            assert ran == named or terminated
            assert reward >= -0.1 * ran - 1


def leave_the_only_action(env):
    """Go on to a choice, where an episode begins without one."""
    while len(env.legal_actions) == 1:
        env.step(oracle_answer(env))


@pytest.mark.parametrize("id_", IDS)
def test_the_random_player_is_uniform(id_):
    env = make(id_, split="test", response_format="plain")
    stream = RandomStream("uniform")
    env.reset(seed=0)
    leave_the_only_action(env)
    counts = dict.fromkeys(env.legal_actions, 0)
    for _ in range(2000):
        for action in random_answer(env, stream).split(" || "):
            counts[action] += 1
    assert chi_square(list(counts.values()), [1] * len(counts)) < rare(len(counts) - 1)


@pytest.mark.parametrize("id_", IDS)
def test_the_random_player_depends_on_its_stream_alone(id_):
    env = make(id_)
    env.reset(seed=0)
    leave_the_only_action(env)
    assert random_answer(env, RandomStream("a")) == random_answer(env, RandomStream("a"))
    assert len({random_answer(env, RandomStream(i)) for i in range(50)}) > 1


def test_answers_follow_the_response_format():
    expected = {
        "think": "<think></think><answer>{}</answer>",
        "answer": "<answer>{}</answer>",
        "plain": "{}",
    }
    for form in RESPONSE_FORMATS:
        env = make("Bandit-v0", split="test", response_format=form)
        env.reset(seed=0)
        names = ("Astronaut", "Typist")
        assert env.legal_actions == names
        assert oracle_answer(env) == expected[form].format("Astronaut")
        assert random_answer(env, RandomStream(0)) in {
            expected[form].format(name) for name in names
        }


BANDITS = ("Bandit-v0", "BanditRev-v0", "BanditMultiPull-v0")


@pytest.mark.parametrize("id_", [*BANDITS, *SOKOBAN, *WEBSHOP, *TWENTY_QUESTIONS])
@pytest.mark.parametrize("split", ["val", "test"])
def test_the_oracle_reaches_a_ceiling_of_one_everywhere(id_, split):
    env = make(id_, split=split)
    for seed in range(held_out_size(id_)):
        info = env.reset(seed=seed)[1]
        assert info["ceiling"] == 1.0
        while env.legal_actions:
            info = env.step(oracle_answer(env))[4]
        assert info["success"]
        assert info["score"] == 1.0


@pytest.mark.parametrize("id_", first_fast(IDS))
def test_the_random_player_stays_below_the_oracle(id_):
    def mean(answer):
        env = make(id_, split="val")
        total = 0.0
        for seed in range(128):
            env.reset(seed=seed, options={"noise_seed": 1})
            while env.legal_actions:
                info = env.step(answer(env))[4]
            total += info["score"]
        return total / 128

    stream = RandomStream("floor")
    assert mean(lambda env: random_answer(env, stream)) < mean(oracle_answer) - 0.02


@pytest.mark.parametrize("id_", IDS)
def test_nobody_answers_before_the_start_or_after_the_end(id_):
    env = make(id_)
    stream = RandomStream("random", 0)
    for player in (oracle_answer, lambda env: random_answer(env, stream)):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            player(env)
    env.reset(seed=0)
    while not any(env.step("")[2:4]):
        pass
    for player in (oracle_answer, lambda env: random_answer(env, stream)):
        with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
            player(env)
