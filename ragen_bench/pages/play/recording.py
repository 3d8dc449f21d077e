"""Recorded play: the episodes of a person, written to a run directory as those of a model."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path

from pydantic import TypeAdapter

from ragen_bench.environments import AnyEnv
from ragen_bench.episodes.episode import Episode, Task, derive_noise_seed
from ragen_bench.episodes.evaluation import Evaluation, refuse_early
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import Completion
from ragen_bench.models.human import HumanModel
from ragen_bench.pages.local_server import RefusedError
from ragen_bench.pages.play.episode import EpisodeChoice, HumanEpisode, Turn
from ragen_bench.pages.play.server import PlayServer, has_fields
from ragen_bench.people import PREFIX, SKIPPED, is_human
from ragen_bench.runs.atomic import replacing
from ragen_bench.runs.checked import read_record
from ragen_bench.runs.directory import open_run, recorded_config
from ragen_bench.runs.json_lines import append, read_lines, to_line
from ragen_bench.runs.schema import Index, Key, Text, Whole
from ragen_bench.suites import EnvPool
from ragen_envs.core.protocol import format_answer, instructions, written_form
from ragen_envs.core.text_env import TextEnv

_ARGUMENT = re.compile(r"\w+\[(.*)\]").fullmatch


@dataclass(slots=True)
class SavedAnswer:
    """A response of a person in an episode that has not ended."""

    env: Text
    split: Text
    index: Index
    sample: Whole
    player: Text
    answer: Text

    @property
    def key(self) -> Key:
        """Key of the episode."""
        return self.env, self.split, self.index, self.sample


_read_saved = partial(read_record, TypeAdapter(SavedAnswer).validate_python)


class RecordedEpisode(HumanEpisode):
    """An episode of a run, in the run's response format, which is written around what is typed.

    `on_answer` is called with each response that was taken, and with None when it is skipped.
    """

    shows_oracle = False

    def __init__(
        self,
        task: Task,
        evaluation: Evaluation,
        env: AnyEnv,
        on_answer: Callable[[str | None], None],
    ) -> None:
        noise_seed = derive_noise_seed(evaluation.seed, task.sample)
        super().__init__(EpisodeChoice(task.env, task.split, task.index, noise_seed), env)
        self._form = written_form(evaluation.response_format)
        self._on_answer = on_answer
        self.recorded = Episode(task, evaluation.seed, env, self._form)
        self._follow()

    @property
    def listed_actions(self) -> tuple[str, ...]:
        """The legal actions that the texts so far name: a model has no other list of them."""
        texts = (*(turn.observation for turn in self.turns), self.observation)
        read = "\n".join(texts).lower()
        return tuple(action for action in self.env.legal_actions if _bare(action) in read)

    def play(self, answer: str) -> None:
        """Take a response, which may be any text."""
        answer = answer.encode("utf-8", "replace").decode()  # half a surrogate pair is not a text
        self.take(answer)
        self._on_answer(answer)

    def take(self, answer: str) -> None:
        """Take a response without reporting it."""
        self.recorded.take(Completion(format_answer([answer], self._form)))
        turn = self.recorded.last_turn
        self.turns.append(Turn(self.observation, answer, turn.reward))
        self.truncated = bool(turn.truncated)
        self._follow()

    def skip(self) -> None:
        """Give the episode up."""
        self.recorded.give_up(SKIPPED)
        self.skipped = True
        self._follow()
        self._on_answer(None)

    def _follow(self) -> None:
        """Show the state of the recorded episode, with the instructions for plain responses."""
        self.observation, self.info = self.recorded.observation, self.recorded.info
        self.over = self.recorded.over
        if isinstance(self.env, TextEnv):
            written, plain = (instructions(self.env.example, f) for f in (self._form, "plain"))
            self.observation = self.observation.replace(written, plain)


def _bare(action: str) -> str:
    """Return an action in lower case, without the function that it is the argument of."""
    match = _ARGUMENT(action)
    return (match[1] if match else action).lower()


class Sitting:
    """A person's sitting at a run, whose missing episodes are played one after the other.

    Several people may play into one run, one at a time: each gets the missing episodes in the
    split's order, and no instance twice. An episode that a person left goes on with that person,
    from the same turn, so that no instance is tried twice. The last `episode` of this person
    is followed by None.
    """

    def __init__(self, evaluation: Evaluation, path: Path, player: str) -> None:
        recorded = recorded_config(path)
        if recorded and is_human(recorded.model) and recorded.model != evaluation.model:
            group = recorded.model.removeprefix(PREFIX)
            raise UserError(
                f"{path} is the run of {recorded.model}; to play into it, add --group {group}, "
                "else choose another --out"
            )
        refuse_early(evaluation, path)
        self.player, self.path = player, path
        self._evaluation = evaluation
        self._tasks = evaluation.tasks()
        self._envs = EnvPool(evaluation.response_format, evaluation.make)
        name = evaluation.model.removeprefix(PREFIX)
        self._run = open_run(path, evaluation.config(HumanModel(name)))
        self._players: dict[Key, str] = {}
        try:
            self._run.repair()
            self._players |= {episode.key: episode.player for episode in self._run.episodes()}
            self._check_spelling()
            self.episode = self._begin()
        except BaseException:
            self.close()
            raise

    def _check_spelling(self) -> None:
        for other in {*self._players.values(), *(saved.player for saved in self._list_saved())}:
            if other != self.player and other.casefold() == self.player.casefold():
                raise UserError(
                    f"{self.path} has a player {other!r}; give --player in the same letters, or "
                    "another name"
                )

    @property
    def planned(self) -> int:
        """Number of episodes of the complete run."""
        return len(self._tasks)

    @property
    def recorded(self) -> int:
        """Number of recorded episodes, of all people."""
        return len(self._players)

    @property
    def has_next(self) -> bool:
        """Whether an episode is left for this person, once the current one is over."""
        return self._next_task() is not None

    def close(self) -> None:
        """Let other people play into the run."""
        self._run.unlock()

    def next(self) -> None:
        """Begin the next episode."""
        self.episode = self._begin()

    def _list_saved(self) -> list[SavedAnswer]:
        lines = read_lines(self._run.unfinished_file, _read_saved)
        return [saved for _, _, saved in lines if saved.key not in self._players]

    def _next_task(self) -> Task | None:
        begun = {saved.key: saved.player for saved in self._list_saved()}
        seen = {(k[0], k[2]) for k, player in self._players.items() if player == self.player}
        missing = [task for task in self._tasks if task.key not in self._players]
        own = [task for task in missing if begun.get(task.key) == self.player]
        free = [t for t in missing if t.key not in begun and (t.env, t.index) not in seen]
        return next(iter(own or free), None)

    def _begin(self) -> RecordedEpisode | None:
        task = self._next_task()
        if task is None:
            return None
        env = self._envs.take(task.env, task.split)
        begin = time.perf_counter()

        def keep(answer: str | None) -> None:
            if not episode.over:
                append(
                    self._run.unfinished_file,
                    asdict(SavedAnswer(*task.key, self.player, answer or "")),
                )
                return
            seconds = time.perf_counter() - begin
            self._run.append_timing(task.env, seconds, seconds)
            self._run.append(episode.recorded.record())
            self._players[task.key] = self.player
            self._run.finish(task.key for task in self._tasks)
            self._drop_saved()
            self._envs.give_back(task.env, task.split, env)

        episode = RecordedEpisode(task, self._evaluation, env, keep)
        episode.recorded.player = self.player
        for saved in self._list_saved():
            if saved.key == task.key and not episode.over:
                episode.take(saved.answer)
        return episode

    def _drop_saved(self) -> None:
        """Drop the responses of recorded episodes from the file of unfinished ones."""
        left = self._list_saved()
        if not left:
            self._run.unfinished_file.unlink(missing_ok=True)
            return
        with replacing(self._run.unfinished_file) as lines:
            lines.writelines(to_line(asdict(saved)) + b"\n" for saved in left)


class RecordingServer(PlayServer):
    """Serves the episodes of a sitting, which has one left, and adds `recording` to the state."""

    def __init__(self, sitting: Sitting, episode: RecordedEpisode, port: int = 0) -> None:
        self._sitting = sitting
        super().__init__(episode, port)

    def state(self) -> JsonObject:
        """Return the state of the page."""
        sitting = self._sitting
        recording = {name: getattr(sitting, name) for name in ("player", "recorded", "planned")}
        return {**super().state(), "recording": {**recording, "has_next": sitting.has_next}}

    def post(self, place: str, message: object) -> JsonObject:
        """Take a response, skip the episode, or begin the next one; return the new state."""
        if place != "skip":
            return super().post(place, message)
        if not has_fields(message, {"game": int, "turn": int}):
            reason = "a skip is {game: a number, turn: a number}"
            raise RefusedError(HTTPStatus.BAD_REQUEST, reason)
        self.check_turn(message["game"], message["turn"])
        if isinstance(self.episode, RecordedEpisode):
            self.episode.skip()
        return self.state()

    def other_episode(self, *, following: bool) -> HumanEpisode:
        """Return the next episode of the sitting."""
        if not following:
            raise self.conflict("a recorded instance is not played again; go on to the next one")
        if not self.episode.over:
            raise self.conflict("the episode is not over; finish it, or skip it")
        if not self._sitting.has_next:
            raise self.conflict("no episode is left")
        self._sitting.next()
        return self._sitting.episode or self.episode
