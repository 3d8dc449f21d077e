"""The solver, which plays a sample's episode with the harness's prompts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

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
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Completion, Finish, Message
from ragen_bench.models.prompt import History
from ragen_bench.models.reasoning import cut_at_stop, read_thoughts, stop_text
from ragen_bench.models.thinking_marks import THINK, ThinkingMarks, parse_marks
from ragen_bench.suites import EnvPool
from ragen_envs.core.protocol import STOP, AnswerFormat

STORE_KEY = "ragen_episode"
"""Key of the episode's result in the sample's store."""
_ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_FINISH: dict[str, Finish] = {"max_tokens": "length", "content_filter": "filtered"}
_EXCERPT = 60
_EXTRACTED = "think"
"""Inspect's mark of reasoning that it extracted from the text of a response."""


_TRIES = 3
"""Tries of an answer that the model's server breaks off."""


class BrokenOffError(RuntimeError):
    """A piece of an answer, which is not the model's doing."""


@solver
def play(history: History = None, seed: int = 0, thinking_marks: str = "") -> Solver:
    """Play an episode with the model. Epoch N is the harness's sample N - 1.

    `history` is the number of past turns in the prompt, None for all; `seed` is that of the noise;
    `thinking_marks` are "" for the default ones.
    """
    marks = parse_marks(thinking_marks) if thinking_marks else THINK
    pools: dict[AnswerFormat, EnvPool] = _Pools()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        sample = state.metadata
        task = Task(sample["env"], sample["split"], sample["seed"], state.epoch - 1)
        form = sample["response_format"]
        env = pools[form].take(task.env, task.split)
        episode = Episode(task, seed, env, form, history)
        try:
            while not episode.over:
                asked = list(_as_chat(episode.request().messages, state.messages))
                read = partial(read_completion, response_format=form, marks=marks)
                state, completion = await _ask(state, asked, generate, read)
                episode.take(completion)
        except BaseException as error:
            # Scored as unsolved, like an episode that exceeds the model's context. A limit may
            # cancel the solver instead.
            is_error = isinstance(error, Exception) and not isinstance(error, LimitExceededError)
            episode.overflow("player")
            outcome = "error" if is_error else "limit"
            state.store.set(STORE_KEY, {**_result(episode), "outcome": outcome})
            raise
        # The log includes the last observation, which the model does not see.
        state.messages = list(_as_chat(episode.request().messages, state.messages))
        state.store.set(STORE_KEY, _result(episode))
        pools[form].give_back(task.env, task.split, env)
        return state

    return solve


async def _ask(
    state: TaskState,
    asked: list[ChatMessage],
    generate: Generate,
    read: Callable[[ModelOutput], Completion],
) -> tuple[TaskState, Completion]:
    """Return the model's answer; one that was broken off is asked for again."""
    tries = 0
    while True:
        tries += 1
        state.messages = [*asked]
        state = await generate(state, tool_calls="none")
        try:
            return state, read(state.output)
        except BrokenOffError:
            if tries == _TRIES:
                raise


class _Pools(defaultdict[AnswerFormat, EnvPool]):
    def __missing__(self, response_format: AnswerFormat) -> EnvPool:
        self[response_format] = pool = EnvPool(response_format)
        return pool


def _result(episode: Episode) -> JsonObject:
    """Return the values of an episode that the log has in addition to the messages."""
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


def _as_chat(messages: Sequence[Message], before: Sequence[ChatMessage]) -> Iterator[ChatMessage]:
    """Convert messages to Inspect's, reusing the objects of unchanged ones."""
    for number, message in enumerate(messages):
        old = before[number] if number < len(before) else None
        role, content = message["role"], message["content"]
        if old is not None and (old.role, old.content) == (role, content):
            yield old
        else:
            yield _ROLES[role](content=content)


def read_completion(
    output: ModelOutput, response_format: AnswerFormat, marks: ThinkingMarks = THINK
) -> Completion:
    """Convert a model's output to the harness's completion.

    The text is cut after the stop text, where the harness's engines stop. Reasoning that Inspect
    extracted from the text is restored if the format requires it. A BrokenOffError says that there
    is a piece of an answer only.
    """
    if output.empty:
        raise BrokenOffError(f"{output.model} gave no answer: {output.error or 'no reason'}")
    usage = output.usage
    tokens = (usage.input_tokens, usage.output_tokens) if usage else (0, 0)
    if output.stop_reason == "model_length":
        return Completion("", *tokens, "context")
    finish = _FINISH.get(output.stop_reason, "stop")
    text, content = output.message.text, output.message.content
    parts = [] if isinstance(content, str) else content
    thoughts = [part for part in parts if isinstance(part, ContentReasoning)]
    if response_format == "think" and thoughts and all(t.internal == _EXTRACTED for t in thoughts):
        text, thoughts = "".join(f"<think>{t.reasoning}</think>" for t in thoughts) + text, []
    completion = Completion(
        text, *tokens, finish, reasoning="\n".join(thought.reasoning for thought in thoughts)
    )
    if output.stop_reason == "unknown" and STOP not in text:
        raise BrokenOffError(
            f"{output.model} sent an answer without a known reason for its end, most likely a "
            f"piece: {text[:_EXCERPT]!r}"
        )
    completion = read_thoughts(completion, response_format, marks)
    return cut_at_stop(completion, stop_text(response_format, constrain=False))
