"""One episode: its requests to the model, its steps and its record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ragen_bench.environments import AnyEnv, as_two_player
from ragen_bench.errors import UserError
from ragen_bench.models.base import OPPONENT_SUFFIX, Completion, Request, Side, TurnId
from ragen_bench.models.chat_messages import encode_png
from ragen_bench.models.prompt import History, conversation, opponent_conversation
from ragen_bench.models.reasoning import without_reasoning
from ragen_bench.runs.faults import to_recorded_reason
from ragen_bench.runs.schema import EpisodeRecord, Key, Outcome, Reply, ReplyCounts, TurnRecord
from ragen_bench.third_party import ThirdPartyEnv
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import TextEnv
from ragen_envs.core.text_game import Info

_Step = Callable[[str], tuple[str, float, bool, bool, Info]]
_APART = {"player": ("the model", "--format"), "opponent": ("the opponent", "--opponent-format")}
SAMPLES_A_SEED = 1 << 20
"""Noise seeds of a run seed; more samples would repeat those of the next seed."""


@dataclass(frozen=True)
class Task:
    """One episode to play: a sample on an instance of an environment's split."""

    env: str
    split: Split
    index: int
    sample: int

    @property
    def key(self) -> Key:
        """Key of the episode, unique in its run."""
        return self.env, self.split, self.index, self.sample

    @property
    def name(self) -> str:
        """The key as a text."""
        return f"{self.env}/{self.split}/{self.index}/{self.sample}"


def derive_noise_seed(seed: int, sample: int) -> int:
    """Return the noise seed of a sample in a run."""
    return seed * SAMPLES_A_SEED + sample


class Episode:
    """A running episode; it alone uses the environment until it ends."""

    def __init__(
        self,
        task: Task,
        seed: int,
        env: AnyEnv,
        response_format: AnswerFormat,
        history: History = None,
    ) -> None:
        self.task = task
        self.over = False
        self.env = env
        self._game = as_two_player(env)
        self._question: tuple[Completion, str] | None = None
        self._format = response_format
        self.history = history
        self._noise_seed = derive_noise_seed(seed, task.sample)
        observation, self._info = env.reset(
            seed=task.index, options={"noise_seed": self._noise_seed}
        )
        self._observations = [observation]
        self._pictures = self._picture()
        self._answers: list[str] = []
        self._turns: list[TurnRecord] = []
        self._overflowed: Side | None = None
        self._error = ""
        self.player = ""
        self.kept: dict[Side, Any] = {}

    @property
    def asked(self) -> Side:
        """The side that responds next."""
        return "opponent" if self._question else "player"

    def request(self) -> Request:
        """Return the next request to the model or its opponent."""
        task, turn = self.task, len(self._turns)
        key = f"{task.name}/{turn}"
        place = TurnId(task.env, task.split, task.index, task.sample, turn)
        if self._question and self._game:
            seat = self._game.seat
            messages = opponent_conversation(self._question[1], seat.response_format)
            return Request(messages, key + OPPONENT_SUFFIX, seat, "opponent", place, self.kept)
        form = None if isinstance(self.env, ThirdPartyEnv) else self._format
        messages = conversation(
            self._observations, self._answers, form, self.history, self._pictures
        )
        return Request(messages, key, self.env, "player", place, self.kept)

    @property
    def observation(self) -> str:
        """The latest observation."""
        return self._observations[-1]

    @property
    def info(self) -> Info:
        """The info of the latest observation."""
        return self._info

    @property
    def turns(self) -> int:
        """Number of turns so far."""
        return len(self._turns)

    @property
    def last_turn(self) -> TurnRecord:
        """The latest turn, as it is recorded."""
        return self._turns[-1]

    def take(self, completion: Completion) -> None:
        """Take the requested response; if the context left no room for it, end the episode.

        The environment is stepped with the player's response, after the opponent's reply if the
        game needs one. A server that removed the thoughts of the response format raises UserError.
        """
        if completion.finish == "context":
            self.overflow(self.asked)
            return
        game, question = self._game, self._question
        if game and question:
            reply = _without_thoughts(completion, game.seat.response_format, "opponent")
            (answer, text), self._question = question, None
            self._end_turn(answer, partial(game.step_with, reply=reply.text))
            estimate = {"tokens_estimated": True} if reply.tokens_estimated else {}
            extra: dict[str, Any] = {**game.reply_record, **estimate}
            self._turns[-1].opponent = Reply(
                observation=text,
                answer=reply.text,
                reasoning=reply.reasoning,
                finish=reply.finish,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
                **extra,
            )
            return
        answer = _without_thoughts(completion, self._format, "player")
        if game is None:
            self._end_turn(answer, self.env.step)
        elif (asked := game.opponent_reads(answer.text)) is None:
            self._end_turn(answer, partial(game.step_with, reply=None))
        else:
            self._question = answer, asked

    def overflow(self, seat: Side) -> None:
        """End the episode since a side's context is full."""
        self._overflowed, self.over = seat, True

    def give_up(self, reason: str) -> None:
        """End the episode as a failure, since a server did not answer."""
        self._error, self.over = to_recorded_reason(reason), True

    def _end_turn(self, completion: Completion, step: _Step) -> None:
        answer = completion.text
        _, named = self.env.read(answer)
        observation, reward, terminated, truncated, info = step(answer)
        self._turns.append(
            TurnRecord(
                observation=self.observation,
                answer=answer,
                reasoning=completion.reasoning,
                actions=list(named),
                reward=reward,
                terminated=terminated,
                truncated=truncated,
                format_is_valid=info["format_is_valid"],
                action_is_valid=info["action_is_valid"],
                action_is_effective=info["action_is_effective"],
                answer_is_example=info["answer_is_example"],
                finish=completion.finish,
                prompt_tokens=completion.prompt_tokens,
                completion_tokens=completion.completion_tokens,
                tokens_estimated=completion.tokens_estimated,
            )
        )
        self._observations.append(observation)
        self._pictures += self._picture()
        self._answers.append(answer)
        self._info = info
        self.over = terminated or truncated

    def _picture(self) -> list[bytes]:
        """Return the picture of the latest observation; none if the text shows the board."""
        if isinstance(self.env, TextEnv) and self.env.pictured:
            return [encode_png(self.env.picture())]
        return []

    def record(self) -> EpisodeRecord:
        """Return the finished episode."""
        info, turns = self._info, self._turns
        score: float | None = info.get("score", 0.0)
        success: bool | None = info["success"]
        unfinished = bool(self._overflowed or self._error)
        if success is not None:
            # An unfinished episode is not solved, even if the game would end in success by itself.
            success = bool(success) and not unfinished
        if unfinished and score is not None:
            score = 0.0
        outcome: Outcome = "failure" if success is not None else "ended"
        if self._error:
            outcome = "given_up"
        elif self._overflowed:
            outcome = "context_overflow"
        elif success:
            outcome = "success"
        elif all(turn.format_is_valid is False for turn in turns):
            outcome = "invalid_format"
        elif not turns[-1].terminated:
            outcome = "truncated"
        opponent = None
        if self._game:
            # From the info: the environment may play the next episode already.
            counts = {count.name: int(info[count.name]) for count in self._game.reply_counts}
            opponent = ReplyCounts(**counts, overflowed=self._overflowed == "opponent")
        return EpisodeRecord(
            env=self.task.env,
            split=self.task.split,
            index=self.task.index,
            sample=self.task.sample,
            rollout=self._noise_seed,
            instance=info["instance"],
            ceiling=info["ceiling"],
            optimal_length=info.get("optimal_length"),
            outcome=outcome,
            success=success,
            score=score,
            episode_return=round(sum_in_order(turn.reward for turn in turns), 6),
            opponent=opponent,
            turns=turns,
            final_observation=self.observation,
            error=self._error,
            player=self.player,
        )


def _without_thoughts(
    completion: Completion, response_format: AnswerFormat, seat: Side
) -> Completion:
    """Return a response without the thoughts that do not belong to its format."""
    if completion.reasoning and response_format == "think":
        who, option = _APART[seat]
        raise UserError(
            f"{who} reasons by itself, and its server reports the thoughts separately from "
            f"the responses: add {option} answer"
        )
    return without_reasoning(completion, response_format)
