"""An agent of smolagents (`pip install 'smolagents[openai]'`), which calls tools until it answers.

It uses the server of OPENAI_BASE_URL with the key in OPENAI_API_KEY, and the model of MODEL:

MODEL=NAME ragen-bench evaluate python:smolagents_player:Player --env FrozenLake-v0
"""

from __future__ import annotations

import os

from smolagents import LogLevel, OpenAIModel, RunResult, Tool, ToolCallingAgent

from ragen_bench.agents import Answer, EpisodeStart, Message, Turn
from ragen_envs.core.protocol import format_answer

STEPS = 4
"""Calls of the model for one answer, at most."""


class LegalActions(Tool):  # type: ignore[misc]
    """Tells the model what it may do."""

    name = "legal_actions"
    description = "Lists the actions that may be answered in this turn."
    inputs: dict[str, dict[str, str]] = {}
    output_type = "string"
    actions: tuple[str, ...] = ()

    def forward(self) -> str:
        """Return them."""
        return ", ".join(self.actions)


class Player:
    """Plays one episode; the agent remembers it from turn to turn."""

    def reset(self, episode: EpisodeStart) -> None:
        """Make an agent."""
        self.form = episode.response_format
        self.legal = LegalActions()
        model = OpenAIModel(
            os.environ["MODEL"], os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]
        )
        self.agent = ToolCallingAgent(
            [self.legal],
            model,
            instructions="Your final answer is the actions alone, with || between them.",
            max_steps=STEPS,
            verbosity_level=LogLevel.OFF,
        )

    def act(self, messages: list[Message], turn: Turn) -> Answer:
        """Run the agent on the latest observation."""
        self.legal.actions = turn.legal_actions
        result = self.agent.run(
            messages[-1]["content"], reset=turn.number == 0, return_full_result=True
        )
        assert isinstance(result, RunResult)
        text = format_answer([str(result.output)], self.form)
        used = result.token_usage
        return Answer(text, "", used.input_tokens, used.output_tokens) if used else Answer(text)
