"""Ended episodes: their file, in which each counts once, and the post of their rewards."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException, responses
from pathlib import Path
from threading import Lock

from pydantic import TypeAdapter

from ragen_bench.errors import UserError
from ragen_bench.export.atif import build_trajectory
from ragen_bench.export.episodes import Source
from ragen_bench.json_types import JsonObject
from ragen_bench.models.chat_messages import replace_surrogates
from ragen_bench.runs.checked import BadRecordError, read_record
from ragen_bench.runs.json_lines import append, bad_line, cut_torn_line, parse_lines
from ragen_bench.runs.schema import EpisodeRecord, Key
from ragen_bench.statistics import mean

_MEND = "choose another --out"
_POST_SECONDS = 30.0


@dataclass(frozen=True)
class Result:
    """One episode.

    Attributes:
        id: Name that the client chose; an id counts once.
        env: Environment.
        split: Split of the instance.
        instance: Index of the instance in the split.
        noise_seed: Seed of the noise.
        outcome: End of the episode, as in the record of a run.
        reward: Sum of the rewards; None if the episode was given up.
        success: Success of the player; None if the game does not report it.
        turns: Number of responses.
        error: Reason for giving the episode up, or "".
        trajectory: The conversation in ATIF.
    """

    id: str
    env: str
    split: str
    instance: int
    noise_seed: int
    outcome: str
    reward: float | None
    success: bool | None
    turns: int
    error: str
    trajectory: JsonObject

    @property
    def is_finished(self) -> bool:
        """Whether the episode was played to its end."""
        return self.reward is not None


_read_result = partial(read_record, TypeAdapter(Result).validate_python)


def make_result(id_: str, record: EpisodeRecord, source: Source) -> Result:
    """Return the result of a record."""
    return Result(
        id=id_,
        env=record.env,
        split=record.split,
        instance=record.index,
        noise_seed=record.sample,
        outcome=record.outcome,
        reward=None if record.error else record.episode_return,
        success=record.success,
        turns=len(record.turns),
        error=record.error,
        trajectory=replace_surrogates(build_trajectory(record, source)),
    )


class ResultFile:
    """A file with a line for each ended episode, and one for each posted reward.

    A result is appended before anything else is done with it. A later start reads the file, so an
    id counts once over all starts. UserError if the file has other lines.

    Attributes:
        file: The file.
        played: Keys of the episodes that have a line.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.played: set[Key] = set()
        self._lock = Lock()
        self._offsets: dict[str, int] = {}
        self._posted: set[str] = set()
        self._finished: dict[str, tuple[float, bool | None]] = {}
        self._given_up: set[str] = set()
        self._size = 0
        for number, (line, content) in enumerate(parse_lines(file, _MEND), 1):
            try:
                self._count(content)
            except BadRecordError as error:
                raise bad_line(file, number, str(error), _MEND) from None
            self._size += len(line)
        cut_torn_line(file)  # not before: another file's last line may have no end

    def add(self, result: Result) -> None:
        """Append a result."""
        self._append(dict(vars(result)))

    def find(self, id_: str) -> Result | None:
        """Return the latest result of an id."""
        offset = self._offsets.get(id_)
        if offset is None:
            return None
        _, content = next(parse_lines(self.file, _MEND, begin=(offset, 1)))
        return _read_result(content)

    def is_posted(self, id_: str) -> bool:
        """Return whether the reward of an id was posted."""
        return id_ in self._posted

    def mark_posted(self, id_: str) -> None:
        """Append that the reward of an id was posted."""
        self._append({"posted": id_})

    def summary(self) -> JsonObject:
        """Return the number of episodes, and the means of reward and success."""
        with self._lock:
            finished, given_up = [*self._finished.values()], len(self._given_up)
        rewards = [reward for reward, _ in finished]
        successes = [float(success) for _, success in finished if success is not None]
        return {
            "episodes": len(finished),
            "given_up": given_up,
            "posted": len(self._posted),
            "reward": mean(rewards) if rewards else None,
            "success": mean(successes) if successes else None,
        }

    def _append(self, content: JsonObject) -> None:
        with self._lock:
            append(self.file, content)
            self._count(content)
            self._size = self.file.stat().st_size

    def _count(self, content: JsonObject) -> None:
        """Count a line that begins at the present size of the file."""
        if content.keys() == {"posted"}:
            self._posted.add(content["posted"])
            return
        result = _read_result(content)
        self._offsets[result.id] = self._size
        self.played.add((result.env, result.split, result.instance, result.noise_seed))
        self._given_up.discard(result.id)
        if result.reward is None:
            self._given_up.add(result.id)
        else:
            self._finished[result.id] = result.reward, result.success


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which could take the key to another server."""

    def redirect_request(self, *_arguments: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def post_reward(result: Result, url: str, key: str) -> None:
    """Post the reward of a finished episode as an event of Agent Lightning.

    Raises:
        UserError: The server did not take the event.
    """
    event = {
        "event_type": "reward",
        "data": {"value": result.reward, "source": "ragen-bench", **vars(result)},
    }
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        request = urllib.request.Request(url, json.dumps(event).encode(), headers)
        with _OPENER.open(request, timeout=_POST_SECONDS):
            return
    except urllib.error.HTTPError as error:
        reason = f"the server replied {error.code} {responses.get(error.code, '')}".rstrip()
        error.close()
    except (OSError, ValueError, HTTPException) as error:
        reason = str(getattr(error, "reason", error))
    raise UserError(
        f"the reward of {result.id} could not be posted to {url}: {reason}; it is kept, and the "
        "same request posts it again",
        exit_code=1,
    )
