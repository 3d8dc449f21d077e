"""One evaluation from its configuration to its summary; the same command resumes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ragen_bench.environments import foreign_notes
from ragen_bench.episodes.episode import Task
from ragen_bench.episodes.groups import describe_resumption, missing, played_again
from ragen_bench.episodes.runner import Played, play, tasks_of
from ragen_bench.errors import UserError
from ragen_bench.models import Model, Sampling, ServerOptions, notes_of
from ragen_bench.models.prompt import History, prompt_hash
from ragen_bench.models.provider import IN_SUBPROCESS, Isolation
from ragen_bench.models.random_player import RandomPlayer
from ragen_bench.models.reasoning import stop_text
from ragen_bench.opponents.opponent import Opponent
from ragen_bench.opponents.pair import ModelPair
from ragen_bench.runs.directory import RunDirectory, open_run, refuse_other
from ragen_bench.runs.draws import Draw, find_unannounced
from ragen_bench.runs.provenance import describe_differences, machine, versions
from ragen_bench.runs.schema import SCHEMA, Key, Object, RunConfig
from ragen_bench.runs.specification import spec_hash, suite_hash
from ragen_bench.suites import Make, find_suite, make_env
from ragen_envs.core.drawn import draw_key
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import AnswerFormat, ResponseFormat
from ragen_envs.core.sealed import open_key


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated.

    Attributes:
        model: the model's name.
        suite: the suite's name, or "" for a choice of environments.
        instances: how many instances of each environment.
        split: where they come from.
        response_format: the form of the answers.
        samples: episodes on each instance.
        seed: decides the sampling and the rollouts' noise.
        temperature: 0 for greedy answers.
        max_tokens: tokens in one answer at most.
        history: past turns that the model is shown; None for all.
        constrain: whether the engine lets only answers in form pass.
        command: how the run was started, for the record.
        server: how the model's server is reached, if it has one; it is not recorded.
        opponent: who plays against the model, where the environments need one.
        top_p: only the likeliest tokens, of this probability together, are drawn from.
        random_player: who gives the floor where another package's environments list no actions.
        isolation: where agents of the user's own run; it is not recorded.
        draw: where the instances of the drawn split come from; None of another split, and where
            the evaluation is to be announced first.
        pictures: whether the model is shown pictures of the boards, and no board as text.
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

    @property
    def sampling(self) -> Sampling:
        """How answers are sampled."""
        stop = stop_text(self.response_format, self.constrain)
        return Sampling(
            self.temperature, self.max_tokens, stop, self.seed, self.constrain, self.top_p
        )

    def config(self, model: Model) -> RunConfig:
        """Return the content of run.json.

        Args:
            model: that of the evaluation; with an opponent, the pair of them.

        Raises:
            SealedKeyError: if the split is sealed and there is no key.
        """
        # Where answers do not depend on what else is in flight, a run may go on with more slots.
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

    def settings(self) -> Object:
        """Return what run.json says of all but the model: of a sealed key the hash alone.

        Raises:
            SealedKeyError: if the split is sealed and there is no key.
        """
        envs = {
            env: (count, spec_hash(env, self.split, self.response_format, pictured=self.pictures))
            for env, count in self.instances.items()
        }
        return {
            "schema": SCHEMA,
            "model": self.model,
            **self._opponent(),
            **self._random_player(),
            "suite": self.suite,
            "suite_version": find_suite(self.suite).version if self.suite else 0,
            "suite_hash": suite_hash(envs, self.max_tokens),
            "split": self.split,
            **({"sealed_key_hash": open_key()} if self.split == "sealed" else {}),
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
        """The form of the opponent's answers, None where there is none."""
        return self.opponent.response_format if self.opponent else None

    def _opponent(self) -> Object:
        """Return what run.json says of the opponent: nothing where there is none."""
        if self.opponent is None:
            return {}
        named = {"model": self.opponent.model, "response_format": self.opponent.response_format}
        return {"opponent": named}

    def _random_player(self) -> Object:
        """Return what run.json says of the random player: nothing where none was named."""
        if self.random_player is None:
            return {}
        player = self.random_player
        return {"random_player": player.name, "random_player_identity": player.identity}

    @property
    def draw_key(self) -> str:
        """The key of the drawn split, "" for the others."""
        return draw_key(self.draw.commitment, self.draw.value) if self.draw else ""

    @property
    def make(self) -> Make:
        """What makes an environment of an id, a split and a form of answers."""
        return partial(
            make_env,
            opponent_format=self.opponent_format,
            draw=self.draw_key,
            pictured=self.pictures,
        )

    def tasks(self) -> list[Task]:
        """Return the episodes, in the order of the record."""
        return tasks_of(self.instances, self.split, self.samples)


def refuse_early(evaluation: Evaluation, path: Path) -> None:
    """Refuse what cannot be run, and a directory that holds something else, before a model loads.

    Raises:
        UserError: if the directory holds something else, or no draw or another one was announced
            for these settings.
        SealedKeyError: if the split is sealed and there is no key.
    """
    if evaluation.split == "drawn":
        _refuse_unannounced(evaluation, evaluation.settings())
    if path.exists() or evaluation.split == "sealed":
        refuse_other(path, evaluation.settings())


def _refuse_unannounced(evaluation: Evaluation, settings: Object) -> None:
    """Refuse the drawn split without a draw, or with one that was made for other settings."""
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


def play_run(
    evaluation: Evaluation,
    model: Model,
    path: Path,
    progress: Callable[[int, int, str, float | None], None] = lambda *_: None,
    say: Callable[[str], None] = lambda _: None,
) -> RunDirectory:
    """Play what is missing of a run and record it.

    Args:
        evaluation: what to evaluate.
        model: the model of `evaluation.model`; with an opponent, the pair of them.
        path: the run directory; one that holds a part of this run is completed.
        progress: called as answers and episodes come with the number of recorded episodes, the
            answers given to this process, the environment of the latest episode, and the share of
            the recorded ones that succeeded; None where none tells success.
        say: called with a line for the user.

    Returns:
        The directory, still locked; complete but for the episodes that a server left unfinished.

    Raises:
        UserError: if the directory holds something else, or the model cannot answer.
    """
    # What the model cannot do is refused before a directory keeps the settings.
    model.engine(evaluation.sampling).close()
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
        for line in (note for env in evaluation.instances for note in foreign_notes(env, named)):
            say(f"Note: {line}")
        recorded = {episode.key: episode.success for episode in run.episodes()}
        if recorded:
            again = played_again(evaluation.tasks(), model.group_size, recorded.keys())
            say(f"Resuming {path}: {describe_resumption(len(recorded), again)}.")
            if differing := describe_differences(run.config.as_json(), config.as_json()):
                say(f"Note: other bytes may follow than on what began: {'; '.join(differing)}.")
        _complete(run, evaluation, model, recorded, progress)
        run.finish(task.key for task in evaluation.tasks())
    except BaseException:
        run.unlock()
        raise
    return run


def _complete(
    run: RunDirectory,
    evaluation: Evaluation,
    model: Model,
    recorded: dict[Key, bool | None],
    progress: Callable[[int, int, str, float | None], None],
) -> None:
    """Play and record what is missing."""
    answers, env = 0, ""
    told = Counter(recorded.values())

    def say() -> None:
        telling = told[True] + told[False]
        share = told[True] / telling if telling else None
        progress(len(recorded), answers, env, share)

    def on_answers(count: int) -> None:
        nonlocal answers
        answers += count
        say()

    say()
    for tasks in missing(evaluation.tasks(), model.group_size, recorded.keys()):
        for played in play(
            tasks,
            model,
            evaluation.sampling,
            evaluation.response_format,
            evaluation.history,
            on_answers=on_answers,
            make=evaluation.make,
        ):
            env, before = played.task.env, len(recorded)
            _keep(run, played, recorded)
            if len(recorded) > before:
                told[recorded[played.task.key]] += 1
            say()


def _keep(run: RunDirectory, played: Played, recorded: dict[Key, bool | None]) -> None:
    """Record an episode unless it is there already, as in a group that is replayed."""
    key = played.task.key
    run.append_timing(played.task.env, played.seconds, played.elapsed)
    if played.record is None:
        run.append_fault(key, played.fault)
    elif key not in recorded:
        run.append(played.record)
        recorded[key] = played.record.success
