"""Where the agents of an evaluation run."""

from __future__ import annotations

from ragen_bench.errors import UserError
from ragen_bench.models.agents.confinement import MEMORY, SECONDS, Confinement
from ragen_bench.models.agents.sandbox import holds_sealed_key
from ragen_bench.options.groups import EvaluationOptions
from ragen_envs.core.instances import Split


def confinement_of(options: EvaluationOptions, split: Split) -> Confinement:
    """Return where the user's own agents run, of an evaluation on a split.

    They are isolated where that is asked for, and wherever they could get at a sealed key.

    Raises:
        UserError: for an option that is of no use.
    """
    names = [name for name in (options.model, options.opponent) if name]
    own = any(name.startswith("python:") for name in names)
    if options.isolate and not own:
        raise UserError(f"--isolate: for python: only, not for {' and '.join(map(repr, names))}")
    reason = _reason(options, split) if own else ""
    if options.memory is not None and not reason:
        raise UserError("--memory goes with --isolate")
    if not reason:
        return Confinement(seconds=options.timeout)
    memory, seconds = options.memory or MEMORY, options.timeout or SECONDS
    return Confinement("isolated", memory, seconds, reason)


def _reason(options: EvaluationOptions, split: Split) -> str:
    """Return why agents are to be isolated, "" if they need not be."""
    if split == "sealed":
        return "it plays sealed instances"
    if holds_sealed_key():
        return "the environment names a sealed key"
    return "--isolate" if options.isolate else ""
