"""Players of whole episodes, which keep everything that was said."""

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer


def play(env, seed, policy, rollout=0):
    """Play one episode; return everything that was said."""
    stream = RandomStream("player", seed)
    told = [env.reset(seed=seed, options={"noise_seed": rollout})]
    while env.legal_actions:
        told.append(env.step(policy(env, stream)))
    return told


def oracle(env, stream):
    return oracle_answer(env)
