"""An async class: asks a model three times at once, and says what most of the answers say.

It uses the server of OPENAI_BASE_URL with the key in OPENAI_API_KEY, and the model of MODEL:

MODEL=NAME ragen-bench evaluate python:majority:Majority --env Sokoban-v0 --concurrency 4
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter

from openai import AsyncOpenAI

from ragen_bench.agents import Answer, EpisodeStart, Message, Turn
from ragen_envs.core.protocol import STOP, body_of

VOTERS = 3
CLIENT = AsyncOpenAI()


class Majority:
    """Plays one episode."""

    def reset(self, episode: EpisodeStart) -> None:
        """Keep the form of the answers."""
        self.form = episode.response_format

    async def act(self, messages: list[Message], turn: Turn) -> Answer:
        """Return the first of the answers that name what most of them name."""
        answers = await asyncio.gather(*(ask(messages) for _ in range(VOTERS)))
        votes = Counter(body_of(answer.text, self.form) for answer in answers)
        chosen, _ = votes.most_common(1)[0]
        return Answer(
            next(a.text for a in answers if body_of(a.text, self.form) == chosen),
            prompt_tokens=sum(answer.prompt_tokens for answer in answers),
            completion_tokens=sum(answer.completion_tokens for answer in answers),
        )


async def ask(messages: list[Message]) -> Answer:
    """Return one answer of the model."""
    reply = await CLIENT.chat.completions.create(
        model=os.environ["MODEL"],
        messages=messages,  # type: ignore[arg-type]
        temperature=1.0,
        max_tokens=200,
        stop=[STOP],
    )
    text, used = reply.choices[0].message.content or "", reply.usage
    if "<answer>" in text and STOP not in text:
        text += STOP  # servers leave out what they stopped at
    if used is None:
        return Answer(text)
    return Answer(text, "", used.prompt_tokens, used.completion_tokens)
