"""Conversations in which the game answers: its observations are the replies to an agent."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from http import HTTPStatus
from threading import Lock
from time import monotonic

from ragen_bench.episodes.episode import SAMPLES_A_SEED, Episode
from ragen_bench.errors import UserError
from ragen_bench.export.episodes import Source
from ragen_bench.gateway.requests import ChatRequest, refuse
from ragen_bench.gateway.results import make_result
from ragen_bench.gateway.table import Table
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Completion
from ragen_bench.visible import write_error
from ragen_envs.core.wording import pluralize

_KEPT_ENDED = 1024
"""Ended conversations whose last reply can be asked for again."""


class Conversation:
    """The episode of one API key. Its `lock` is held by the request that it answers."""

    def __init__(self, id_: str, table: Table, name: str) -> None:
        self.id, self.lock = id_, Lock()
        self._table, settings = table, table.settings
        task, env = table.begin(*_read_model(name))
        try:
            self._episode: Episode | None = Episode(task, 0, env, settings.response_format)
        except BaseException:
            table.end(task, env)
            raise
        self._replies, self._said = 0, ""
        self._last: JsonObject = {}
        self.heard = monotonic()
        self.ending = ""

    def reply(self, request: ChatRequest) -> JsonObject:
        """Take the last message, and return the observation after it as a completion.

        A request that shows the conversation before the latest reply, and ends with the same
        message, is a retry: it gets that reply again.

        Raises:
            RefusedError: The conversation has ended, or the request shows another one.
        """
        shown, said = request.replies, request.messages[-1].text
        if self._replies and shown == self._replies - 1 and said == self._said:
            return self._last
        if self._episode is None:
            raise refuse(self.ending)
        if shown != self._replies:
            raise refuse(
                f"the game has replied {self._replies} times, and the request shows {shown} of its "
                "replies; send the whole conversation, or begin another one with another API key"
            )
        self.heard = monotonic()
        if self._replies and not self._episode.over:  # it is, if its end could not be written
            try:
                self._episode.take(Completion(said))
            except UserError as error:  # an environment of another package failed
                self.give_up(str(error))
                raise refuse(self.ending, HTTPStatus.BAD_GATEWAY) from error
        self._last = self._complete(request, self._episode)
        self._said, self._replies = said, self._replies + 1
        return self._last

    def give_up(self, reason: str) -> None:
        """End the episode before its end, with its turns in the file of the results."""
        if self._episode is not None:
            self._episode.give_up(reason)
            self._finish(self._episode, reason)

    def _complete(self, request: ChatRequest, episode: Episode) -> JsonObject:
        state: JsonObject = {"id": self.id, "instance": episode.task.index}
        state |= {"noise_seed": episode.task.sample, "turn": episode.turns, "done": episode.over}
        if episode.turns:
            turn = episode.last_turn
            state |= {
                "reward": turn.reward,
                "terminated": turn.terminated,
                "truncated": turn.truncated,
            }
        text = episode.observation
        if episode.over:
            state |= self._finish(episode)
        return {
            "id": f"{self.id}-{self._replies + 1}",
            "object": "chat.completion",
            "created": 0,
            "model": request.model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            "ragen": state,
        }

    def _finish(self, episode: Episode, reason: str = "") -> JsonObject:
        """Keep and post the result, free the environment, and return the fields of the end."""
        table = self._table
        source = Source(
            "agent", table.settings.response_format, table.settings.split, (), {}, has_opening=False
        )
        result = make_result(self.id, episode.record(), source)
        table.results.add(result)
        table.end(episode.task, episode.env)
        self._episode = None
        self.ending = (
            f"the conversation {self.id} was ended: {reason}; {table.results.file} has "
            f"{pluralize(result.turns, 'turn')} of it"
            if reason
            else f"the episode {self.id} has ended with the return {result.reward:g}"
        ) + "; another API key begins another one"
        try:
            posted = table.deliver(result)
        except UserError as error:
            posted = False
            write_error(f"{error}\n")
        return {"return": result.reward, "success": result.success, "posted": posted}


class Conversations:
    """All conversations, by a digest of their keys, since a client may send a real key."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._lock = Lock()
        self._running: dict[str, Conversation] = {}
        self._ended: OrderedDict[str, Conversation] = OrderedDict()

    def reply(self, key: str, request: ChatRequest) -> JsonObject:
        """Return the reply to a message in the conversation of a key; see `Conversation.reply`."""
        if request.stream:
            raise refuse("the gateway does not stream; send stream=false")
        if request.messages[-1].role != "user":
            raise refuse("the last message is not the user's; send the agent's response as one")
        with self._lock:
            conversation = self._find(key, request)
        try:
            with conversation.lock:
                return conversation.reply(request)
        except UserError as error:
            raise refuse(str(error), HTTPStatus.INTERNAL_SERVER_ERROR) from error
        finally:
            if conversation.ending:
                self._retire(conversation)

    def end_silent(self, seconds: float) -> None:
        """End the conversations without a message for some seconds."""
        now = monotonic()
        for conversation in [*self._running.values()]:
            if now - conversation.heard > seconds and conversation.lock.acquire(blocking=False):
                try:
                    conversation.give_up(f"no message came for {seconds:g} s")
                finally:
                    conversation.lock.release()
                self._retire(conversation)

    def close(self) -> None:
        """End all conversations."""
        for conversation in [*self._running.values()]:
            with conversation.lock:
                conversation.give_up("the gateway was stopped")
            self._retire(conversation)

    def _find(self, key: str, request: ChatRequest) -> Conversation:
        id_ = hashlib.sha256(key.encode(errors="replace")).hexdigest()[:16]
        found = self._running.get(id_) or self._ended.get(id_)
        if found is None:
            if self._table.results.find(id_):
                raise refuse(f"the episode {id_} has ended; another API key begins another one")
            if request.replies:
                raise refuse(
                    "no conversation of this API key is running; begin one without replies"
                )
            try:
                found = self._running[id_] = Conversation(id_, self._table, request.model)
            except UserError as error:
                raise refuse(str(error)) from None
        return found

    def _retire(self, conversation: Conversation) -> None:
        with self._lock:
            self._running.pop(conversation.id, None)
            self._ended[conversation.id] = conversation
            while len(self._ended) > _KEPT_ENDED:
                self._ended.popitem(last=False)


def _read_model(name: str) -> tuple[int, int | None]:
    """Return instance and noise seed of a model's name, INSTANCE or INSTANCE/NOISE."""
    found = re.fullmatch("([0-9]{1,19})(?:/([0-9]{1,7}))?", name)
    noise_seed = int(found[2]) if found and found[2] else None
    if found is None or (noise_seed or 0) >= SAMPLES_A_SEED:
        raise UserError(
            "the model's name is the number of an instance, such as 3, or with a noise seed below "
            f"{SAMPLES_A_SEED} 3/1; got {name!r}"
        )
    return int(found[1]), noise_seed
