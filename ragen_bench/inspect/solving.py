"""The solver: plays a sample's episode turn by turn, with the harness's own prompts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    ModelOutput,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.models.base import Completion, Finish, Message
from ragen_bench.models.prompt import History
from ragen_bench.models.reasoning import stop_text
from ragen_bench.suites import EnvPool
from ragen_envs.core.protocol import AnswerFormat

STORED = "ragen_episode"
"""The key of the sample's store under which what became of the episode is."""
_ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_FROM_TEXT = "think"
"""How Inspect marks reasoning that it took out of an answer's text."""


@solver
def play(history: History = None, seed: int = 0) -> Solver:
    """Play an episode with the model; the epoch is the sample of the harness, from 1 on.

    Args:
        history: past turns that the model is shown; None for all.
        seed: of the noise, as that of a run.
    """
    pools: dict[AnswerFormat, EnvPool] = _Pools()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        task, form = _task_of(state), state.metadata["response_format"]
        env = pools[form].take(task.env, task.split)
        episode = Episode(task, seed, env, form, history)
        try:
            while not episode.over:
                state.messages = list(_as_chat(episode.request().messages, state.messages))
                state = await generate(state, tool_calls="none")
                episode.take(completion_of(state.output, form))
        except LimitExceededError:
            # Like an episode that the model had no room for: it is scored, and not solved.
            episode.overflow("player")
            state.store.set(STORED, {**_told(episode), "outcome": "limit"})
            raise
        # With the last observation, which no model is shown, the log tells the whole episode.
        state.messages = list(_as_chat(episode.request().messages, state.messages))
        state.store.set(STORED, _told(episode))
        pools[form].give_back(task.env, task.split, env)
        return state

    return solve


class _Pools(defaultdict[AnswerFormat, EnvPool]):
    """A pool of environments for each form of answers."""

    def __missing__(self, response_format: AnswerFormat) -> EnvPool:
        self[response_format] = pool = EnvPool(response_format)
        return pool


def _told(episode: Episode) -> dict[str, Any]:
    """Return what the log keeps of an episode beside its messages."""
    record = episode.record()
    return {
        "rollout": record.rollout,
        "outcome": record.outcome,
        "success": record.success,
        "score": record.score,
        "return": record.episode_return,
        "rewards": [turn.reward for turn in record.turns],
        "terminated": bool(record.turns and record.turns[-1].terminated),
        "truncated": bool(record.turns and record.turns[-1].truncated),
    }


def _task_of(state: TaskState) -> Task:
    """Return the harness's task of a sample in an epoch."""
    sample = state.metadata
    return Task(sample["env"], sample["split"], sample["seed"], state.epoch - 1)


def _as_chat(messages: Sequence[Message], before: Sequence[ChatMessage]) -> Iterator[ChatMessage]:
    """Yield messages as Inspect's; those that stood there before stay the same objects."""
    for number, message in enumerate(messages):
        old = before[number] if number < len(before) else None
        role, content = message["role"], message["content"]
        if old is not None and (old.role, old.content) == (role, content):
            yield old
        else:
            yield _ROLES[role](content=content)


def completion_of(output: ModelOutput, response_format: AnswerFormat) -> Completion:
    """Return an answer as the harness takes it.

    The answer ends with the stop text, behind which the harness's engines would not have gone on.
    Thoughts that Inspect took out of the text are put back where the form demands them.

    Args:
        output: what Inspect's model said.
        response_format: the form of the answer.
    """
    usage = output.usage
    tokens = (usage.input_tokens, usage.output_tokens) if usage else (0, 0)
    if output.stop_reason == "model_length":
        return Completion("", *tokens, "context")
    finish: Finish = "length" if output.stop_reason == "max_tokens" else "stop"
    text, thoughts = output.message.text, _thoughts(output)
    if response_format == "think" and thoughts and all(t.internal == _FROM_TEXT for t in thoughts):
        text, thoughts = "".join(f"<think>{t.reasoning}</think>" for t in thoughts) + text, []
    completion = Completion(
        text, *tokens, finish, reasoning="\n".join(thought.reasoning for thought in thoughts)
    )
    stop = stop_text(response_format, constrain=False)
    if stop and stop in text:
        ended = text[: text.index(stop) + len(stop)]
        return replace(completion, text=ended, finish="stop")
    return completion


def _thoughts(output: ModelOutput) -> list[ContentReasoning]:
    content = output.message.content
    parts = [] if isinstance(content, str) else content
    return [part for part in parts if isinstance(part, ContentReasoning)]
