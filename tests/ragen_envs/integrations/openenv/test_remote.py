"""Any OpenEnv server as a Gymnasium environment, under the kit's checks too."""

import copy
from functools import partial

import gymnasium
import pytest
from gymnasium.error import Error, ResetNeeded
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app

from ragen_envs.integrations.openenv import Limits
from ragen_envs.integrations.openenv.remote import RemoteEnv
from ragen_envs.testing import check_hostile_text, check_rollouts_differ_in_noise

from .running import running

pytestmark = pytest.mark.slow

ENV = "ragen/FrozenLake-v0"
WIDE = Limits(max_message=1 << 23)  # the kit's longest text is of a million characters


@pytest.fixture(scope="module")
def url():
    with running(ENV, response_format="plain", limits=WIDE) as address:
        yield address


@pytest.fixture
def env(url):
    made = RemoteEnv(url, "test")
    yield made
    made.close()


@pytest.mark.parametrize("check", [check_hostile_text, check_rollouts_differ_in_noise])
def test_the_kit_checks_a_server(url, check):
    """The page's example runs the other checks."""
    make = partial(RemoteEnv, url, "val")
    check(
        make, noise_options=lambda number: {"noise_seed": number}, stochastic=True, seeds=range(2)
    )


def test_it_plays_as_gymnasium_does(env):
    beside = gymnasium.make(ENV, split="test", response_format="plain")
    for seed, noise_seed in ((0, 0), (1, 2)):
        options = {"noise_seed": noise_seed}
        assert (
            env.reset(seed=seed, options=options)[0] == beside.reset(seed=seed, options=options)[0]
        )
        over = False
        while not over:
            here, there = (each.step("Down || Right") for each in (env, beside))
            assert here[:4] == there[:4]
            over = here[2] or here[3]
        assert here[4]["success"] == there[4]["success"]


def test_a_copy_plays_on_in_a_session_of_its_own(env):
    env.reset(seed=1, options={"noise_seed": 3})
    env.step("?")
    twin = copy.deepcopy(env)
    steps = [env.step(answer) for answer in ("?", "Up")]
    assert [twin.step(answer) for answer in ("?", "Up")] == steps
    twin.close()


def test_a_reset_without_a_seed_follows_from_the_one_before(env):
    env.reset(seed=5)
    texts = [env.reset()[0] for _ in range(3)]
    env.reset(seed=5)
    assert [env.reset()[0] for _ in range(3)] == texts
    assert len(set(texts)) > 1


def test_what_goes_wrong_is_one_error(env):
    with pytest.raises(ResetNeeded):
        env.step("Up")
    with pytest.raises(Error, match=r"Server error: reset takes seed, .* not 'rolout'"):
        env.reset(seed=0, options={"rolout": 1})
    with pytest.raises(ResetNeeded):
        env.step("Up")
    with pytest.raises(Error, match=r"http://127.0.0.1:9: Failed to connect"):
        RemoteEnv("http://127.0.0.1:9").reset(seed=0)
    other = RemoteEnv(env._url, text_key="prompt")
    with pytest.raises(Error, match=r"sends no text as 'prompt'; name one of its fields .* text, "):
        other.reset(seed=0)
    other.close()


class Say(Action):
    say: str


class Heard(Observation):
    prompt: str
    loud: bool = False


class Echo(Environment[Say, Heard, State]):
    """A server that is not of this package: it echoes three answers."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None):
        self.left = 3
        return Heard(prompt=f"Say something, {seed}")

    def step(self, action):
        self.left -= 1
        return Heard(prompt=action.say, loud=action.say.isupper(), done=not self.left)

    @property
    def state(self):
        return State(step_count=3 - self.left)


def test_a_server_of_another_package():
    application = create_fastapi_app(Echo, Say, Heard, 4)
    application.state.limits = Limits()
    with running(application) as url:
        env = RemoteEnv(url, text_key="prompt", action_key="say")
        assert env.reset(seed=7)[0] == "Say something, 7"
        env.step("half a pair: \ud800")
        assert env.step("YES") == ("YES", 0.0, False, False, {"loud": True, "metadata": {}})
        assert env.step("end")[2:4] == (True, False)
        with pytest.raises(ResetNeeded):
            env.step("more")
        env.close()
