"""One evaluation: its settings, its configuration, and its run, which can be resumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ragen_bench.environments import third_party_notes
from ragen_bench.episodes.episode import Task
from ragen_bench.episodes.recording import Recorder
from ragen_bench.episodes.runner import describe_resumption, played_again, tasks_of
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models import Model, Sampling, ServerOptions, notes_of
from ragen_bench.models.base import expect_answers, resume
from ragen_bench.models.prompt import History, prompt_hash
from ragen_bench.models.provider import IN_SUBPROCESS, Isolation
from ragen_bench.models.random_player import RandomPlayer
from ragen_bench.models.reasoning import stop_text
from ragen_bench.opponents.opponent import ModelPair, Opponent
from ragen_bench.runs.directory import RunDirectory, open_run, recorded_config, refuse_other
from ragen_bench.runs.draws import Draw, find_unannounced
from ragen_bench.runs.provenance import describe_differences, machine, versions
from ragen_bench.runs.schema import SCHEMA, OnError, RunConfig
from ragen_bench.runs.specification import spec_hash, suite_hash
from ragen_bench.suites import Make, find_suite, make_env
from ragen_envs.core.drawn import draw_key
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat, ResponseFormat
from ragen_envs.core.sealed import open_drawn_key


@dataclass(frozen=True)
class Evaluation:
    """The settings of an evaluation.

    Attributes:
        suite: Name of the suite, or "" for chosen environments.
        instances: Number of instances by environment.
        samples: Episodes per instance.
        max_tokens: Token limit of a response.
        history: Past turns in the prompt; None for all.
        command: Command line or call of the run, for the record.
        server: Connection to the model's server, if it has one; not recorded.
        random_player: Random baseline of third-party environments that list no actions.
        isolation: Where agents of the user's own run; not recorded.
        thinking_marks: Marks of the model's thoughts; "" for those of its template.
        draw: Draw of the drawn split; None for other splits, and before the announcement.
        on_error: How episodes count that a server left unfinished.
    """

    model: str
    suite: str
    instances: dict[str, int]
    split: Split
    response_format: AnswerFormat
    samples: int
    seed: int
    temperature: float
    max_tokens: int
    history: History = None
    constrain: bool = False
    command: str = ""
    server: ServerOptions | None = None
    opponent: Opponent | None = None
    top_p: float = 1.0
    random_player: RandomPlayer | None = None
    isolation: Isolation = IN_SUBPROCESS
    draw: Draw | None = None
    pictures: bool = False
    on_error: OnError = "exclude"
    thinking_marks: str = ""

    @property
    def sampling(self) -> Sampling:
        """The sampling settings."""
        stop = stop_text(self.response_format, self.constrain)
        return Sampling(
            self.temperature, self.max_tokens, stop, self.seed, self.constrain, self.top_p
        )

    def config(self, model: Model) -> RunConfig:
        """Return the content of run.json, for the model with its opponent; see `settings`."""
        # Without groups, responses do not depend on the slots, and a run may resume with more.
        slots = model.slots if model.group_size > 1 else 1
        settings = self.settings()
        if isinstance(model, ModelPair):
            settings["opponent"]["model_identity"] = model.opponent.identity()
        return RunConfig(
            **settings,
            model_identity=model.identity(),
            slots=slots,
            group_size=model.group_size,
            machine=machine(),
        )

    def settings(self) -> JsonObject:
        """Return the content of run.json without the model's part; of a sealed key only the hash.

        Without the key of a sealed split, SealedKeyError is raised.
        """
        envs = {
            env: (count, spec_hash(env, self.split, self.response_format, pictured=self.pictures))
            for env, count in self.instances.items()
        }
        opponent = self.opponent and {
            "model": self.opponent.model,
            "response_format": self.opponent.response_format,
        }
        player = self.random_player
        identity = (
            {"random_player": player.name, "random_player_identity": player.identity}
            if player
            else {}
        )
        return {
            "schema": SCHEMA,
            "model": self.model,
            **({"opponent": opponent} if opponent else {}),
            **identity,
            "suite": self.suite,
            "suite_version": find_suite(self.suite).version if self.suite else 0,
            "suite_hash": suite_hash(envs, self.max_tokens),
            "split": self.split,
            **({"sealed_key_hash": open_drawn_key()} if self.split == "sealed" else {}),
            **({"draw": self.draw.of_run()} if self.draw else {}),
            "samples": self.samples,
            "seed": self.seed,
            "temperature": self.temperature,
            **({"top_p": self.top_p} if self.top_p != 1 else {}),
            "max_tokens": self.max_tokens,
            "response_format": self.response_format,
            "history": self.history,
            "constrained": self.constrain,
            **({"pictures": True} if self.pictures else {}),
            **({"on_error": self.on_error} if self.on_error != "exclude" else {}),
            "prompt_hash": prompt_hash(self.response_format, self.history, self.opponent_format),
            "envs": [
                {"id": env, "instances": count, "spec_hash": spec}
                for env, (count, spec) in envs.items()
            ],
            "versions": versions(),
            "command": self.command,
        }

    @property
    def opponent_format(self) -> ResponseFormat | None:
        """Response format of the opponent; None without an opponent."""
        return self.opponent.response_format if self.opponent else None

    @property
    def draw_key(self) -> str:
        """Key of the drawn split, "" for other splits."""
        return draw_key(self.draw.commitment, self.draw.value) if self.draw else ""

    @property
    def make(self) -> Make:
        """Function that makes an environment from an id, a split and a response format."""
        return partial(
            make_env,
            opponent_format=self.opponent_format,
            draw=self.draw_key,
            pictured=self.pictures,
        )

    def tasks(self) -> list[Task]:
        """Return the episodes in the order of the record."""
        return tasks_of(self.instances, self.split, self.samples)


def refuse_early(evaluation: Evaluation, path: Path) -> None:
    """Refuse invalid settings and directories before the model is loaded.

    Raises UserError for a directory that holds something else, or a draw that is missing or belongs
    to other settings, and SealedKeyError without the key of a sealed split.
    """
    if evaluation.split == "drawn":
        _refuse_unannounced(evaluation, evaluation.settings())
    if path.exists() or evaluation.split == "sealed":
        refuse_other(path, evaluation.settings())


def _refuse_unannounced(evaluation: Evaluation, settings: JsonObject) -> None:
    """Refuse the drawn split without a draw, or with a draw for other settings."""
    if evaluation.draw is None:
        raise UserError(
            "--split drawn needs --draw FILE, which the project writes to leaderboard/draws/ in "
            "answer to an announcement; `ragen-bench announce MODEL` writes that"
        )
    if differing := find_unannounced(evaluation.draw, settings):
        raise UserError(
            f"the draw is for other settings than these ({'; '.join(differing)}); evaluate as "
            "announced, or announce anew"
        )


def _resume_models(evaluation: Evaluation, model: Model, path: Path) -> None:
    """Let models be asked as in the run that is resumed, or as announced."""
    recorded = recorded_config(path)
    announced = (evaluation.draw and evaluation.draw.announcement) or {}
    settings = recorded.as_json() if recorded else announced
    if isinstance(model, ModelPair):
        resume(model.opponent, (settings.get("opponent") or {}).get("model_identity") or {})
        model = model.player
    resume(model, settings.get("model_identity", {}))


def play_run(
    evaluation: Evaluation,
    model: Model,
    path: Path,
    progress: Callable[[int, int, str, float | None], None] = lambda *_: None,
    say: Callable[[str], None] = lambda _: None,
) -> RunDirectory:
    """Play the missing episodes of a run and record them; the model has its opponent.

    `progress` is called with the number of recorded episodes, the responses in this process, the
    environment of the latest episode, and the success rate so far, None where no environment
    reports success. `say` is called with a line for the user. The returned directory is locked, and
    lacks only excluded episodes that a server left unfinished. Raises UserError for a directory
    that holds something else, or a model that cannot respond.
    """
    _resume_models(evaluation, model, path)
    # Refuse what the model cannot do before a directory records the settings.
    model.engine(evaluation.sampling).close()
    notes = set(notes_of(model))
    for note in notes_of(model):
        say(f"Note: {note}.")
    config = evaluation.config(model)
    if evaluation.split == "drawn":
        _refuse_unannounced(evaluation, config.as_json())
    run = open_run(path, config)
    try:
        if run.repair():
            say(f"A torn last line in {path} was cut off; its episode is played again.")
        named = evaluation.random_player is not None
        for env in evaluation.instances:
            for note in third_party_notes(env, named):
                say(f"Note: {note}")
        recorded = {episode.key: episode.success for episode in run.episodes()}
        if recorded:
            expect_answers(model)
            again = played_again(evaluation.tasks(), model.group_size, recorded.keys())
            say(f"Resuming {path}: {describe_resumption(len(recorded), again)}.")
            if differing := describe_differences(run.config.as_json(), config.as_json()):
                say(f"Note: other bytes may follow than on what began: {'; '.join(differing)}.")
        try:
            Recorder(run, evaluation, recorded, progress, say).complete(model)
        finally:
            if set(notes_of(model)) != notes:
                run.update_identity(evaluation.config(model))
        for note in set(notes_of(model)) - notes:  # of what the server said while it was asked
            say(f"Note: {note}.")
        run.finish(task.key for task in evaluation.tasks())
    except BaseException:
        run.unlock()
        raise
    return run
