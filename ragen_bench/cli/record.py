"""`play --record`: a person plays a run like a model's, in the terminal or on a page."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from ragen_bench.cli.people import play_in_terminal
from ragen_bench.errors import INTERRUPTED, UserError
from ragen_bench.pages.play.recording import RecordingServer, Sitting
from ragen_bench.people import PREFIX, find_name_problem
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.options import EvaluationOptions
from ragen_bench.settings.run_names import default_path
from ragen_bench.visible import visible, write_error, write_out
from ragen_envs.core.wording import pluralize

if TYPE_CHECKING:
    from ragen_bench.cli.people import Play
    from ragen_bench.episodes.evaluation import Evaluation

_AGAIN = " The same command goes on from here."


def record(play: Play) -> int:
    """Let a person play the episodes of a run that are left, until the person leaves."""
    for name in ("seed", "noise_seed"):
        if getattr(play, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UserError(
                f"{option} does not go with --record, which plays the instances in the split's "
                "order; remove it, or choose their number with --limit"
            )
    if play.env and play.suite:
        raise UserError("give ENV or --suite, not both")
    if play.format == "tools":
        raise UserError("people write their answers: --format is think, answer or plain")
    player = _check_name("--player", play.player)
    evaluation = _build_evaluation(play, player)
    sitting = Sitting(evaluation, play.out or default_path(evaluation), player)
    try:
        write_out(f"{player} plays into {sitting.path}: {_describe(sitting)}\n")
        if sitting.episode and play.browser:
            RecordingServer(sitting, sitting.episode, play.port or 0).serve("Play")
        elif sitting.episode:
            _play(sitting)
    except KeyboardInterrupt:
        write_error(f"\nragen-bench: interrupted; {_describe(sitting)}{_AGAIN}\n")
        return INTERRUPTED
    finally:
        sitting.close()
    return 0


def _check_name(option: str, name: str | None) -> str:
    if name is None:
        raise UserError(
            f"{option} NAME is missing; give a name for the record, such as p1, since it is "
            "published with the run"
        )
    if problem := find_name_problem(name.strip()):
        raise UserError(f"{option}: the name {name!r} {problem}")
    return name.strip()


def _build_evaluation(play: Play, player: str) -> Evaluation:
    group = player if play.group is None else _check_name("--group", play.group)
    options = EvaluationOptions(
        model=PREFIX + group,
        suite=play.suite,
        env=play.env,
        split=play.split or "test",
        draw=play.draw,
        limit=play.limit,
        samples=1 if play.samples is None else play.samples,
        format=play.format,
        on_error="fail",
    )
    return build_evaluation(options, shlex.join(["ragen-bench", *sys.argv[1:]]))


def _play(sitting: Sitting) -> None:
    while episode := sitting.episode:
        choice, number = episode.choice, sitting.recorded + 1
        where = f"{choice.env}, {choice.split} instance {choice.seed}"
        write_out(f"\n--- Episode {number} of {sitting.planned}: {visible(where)}\n\n")
        if not play_in_terminal(episode, episode.skip):
            write_out(f"You left. {_describe(sitting)}{_AGAIN}\n")
            return
        sitting.next()
    write_out(f"\n{_describe(sitting)}\n")


def _describe(sitting: Sitting) -> str:
    """Return the state of a run in words, with what to do once nothing is left for the player."""
    done = f"{sitting.recorded} of {pluralize(sitting.planned, 'episode')} recorded."
    if sitting.recorded == sitting.planned:
        return f"{done} `ragen-bench report {sitting.path}` shows the results."
    if sitting.episode is None:
        return f"{done} The others are for other people, or begun by them."
    return done
