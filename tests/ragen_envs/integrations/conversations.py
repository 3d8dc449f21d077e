"""Episodes of plain Gymnasium, whose answers the conversation alone decides."""

import gymnasium

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.protocol import format_answer
from ragen_envs.integrations.bridging import tasks


def play(id_, split, instances, rollouts):
    """Return the answer to each conversation, and the episode of each instance and noise seed."""
    answers, episodes = {}, {}
    env = gymnasium.make(id_, split=split)
    for task in tasks(id_, instances, rollouts, split=split):
        first, _ = env.reset(seed=task.seed, options={"noise_seed": task.noise_seed})
        conversation, rewards, over = [first], [], False
        while not over:
            answer = _answer(env, task.seed, conversation)
            assert answers.setdefault(tuple(conversation), answer) == answer
            observation, reward, terminated, truncated, info = env.step(answer)
            over = terminated or truncated
            conversation += [answer, observation]
            rewards.append(reward)
        episodes[task.seed, task.noise_seed] = conversation, rewards, info["success"], info["score"]
    return answers, episodes


def _answer(env, seed, conversation):
    """Return the oracle's answer for even seeds, else one that the conversation alone decides."""
    if seed % 2 == 0:
        return oracle_answer(env.unwrapped)
    legal = env.unwrapped.legal_actions
    return format_answer([legal[RandomStream(*conversation).below(len(legal))]], "think", "I try.")
