"""The shared episode: what each agent has read, and what each answer does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.pettingzoo.seats import Observation, without_test_option

_OF_AN_ANSWER = (
    "format_is_valid",
    "action_is_valid",
    "action_is_effective",
    "answer_is_example",
)
"""What `info` says of the latest answer, and not of the game."""
_NOT_RUN = "The episode was over, so nothing was done."


class Room:
    """One episode of a game in which several agents answer.

    All budgets are those of the one episode. What an answer did is a line of news, which every
    agent is told once: with its next observation, in the order in which the answers ran.

    Args:
        env: the game.
        agents: the names of those who play, in order.
        manner: how they answer, as the first observation says it. A single agent is told
            nothing but the game's own texts.

    Attributes:
        env: the game.
        terminated: whether the rules ended the episode.
        truncated: whether the budget did.
    """

    def __init__(self, env: TextEnv[Any, Any], agents: Sequence[str], manner: str) -> None:
        self.env = env
        self._agents = list(agents)
        self._manner = manner
        self._infos: dict[str, dict[str, Any]] = {}
        self.terminated = self.truncated = False

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Start an episode; the arguments are those of `TextEnv.reset`."""
        self._first, info = self.env.reset(seed=seed, options=without_test_option(options))
        self._state = ""
        self._news: list[str] = []
        self._heard: dict[str, int | None] = dict.fromkeys(self._agents)
        self._infos = {agent: info.copy() for agent in self._agents}
        self.terminated = self.truncated = False

    @property
    def over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """Of every agent, the game's `info`, with the flags of the agent's own latest answer."""
        return {agent: info.copy() for agent, info in self._infos.items()}

    def tell(self, agent: str) -> Observation:
        """Return what the agent has not been told yet, and the state.

        That is the rules and the first state, if it has not answered yet; the news since it was
        last asked; and after any news the present state.
        """
        heard = self._heard[agent]
        parts = [self._introduction(agent) + self._first] if heard is None else []
        if news := self._news[heard or 0 :]:
            parts.append("\n".join([*news, self._state]))
        return {"text": "\n\n".join(parts)}

    def ask(self, agents: Sequence[str]) -> None:
        """Note that these agents answer now, having been told all news up to here."""
        self._heard.update(dict.fromkeys(agents, len(self._news)))

    def answer(self, agent: str, answer: str) -> float:
        """Run an agent's answer, and return the turn's reward.

        An answer after the end of the episode does nothing and costs nothing.
        """
        if self.over:
            self._report(agent, _NOT_RUN)
            self._infos[agent].update(dict.fromkeys(_OF_AN_ANSWER, False))
            return 0.0
        text, reward, self.terminated, self.truncated, info = self.env.step(answer)
        feedback, _, self._state = text.partition("\n")
        self._report(agent, feedback)
        for other, own in self._infos.items():
            self._infos[other] = info | {flag: own[flag] for flag in _OF_AN_ANSWER}
        self._infos[agent] = info
        return reward

    def _report(self, agent: str, feedback: str) -> None:
        self._news.append(feedback if len(self._agents) == 1 else f"{agent}: {feedback}")

    def _introduction(self, agent: str) -> str:
        if len(self._agents) == 1:
            return ""
        return (
            f"You are {agent}. {', '.join(self._agents)} play this game together and "
            f"{self._manner}. Turns, actions and rewards are those of all.\n\n"
        )
