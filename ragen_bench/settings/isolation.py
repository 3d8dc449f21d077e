"""Where the agents of an evaluation run."""

from __future__ import annotations

from ragen_bench.errors import UserError
from ragen_bench.models import Isolation, find_provider
from ragen_bench.models.agents.sandbox import has_sealed_key
from ragen_bench.settings.options import EvaluationOptions
from ragen_envs.core.instances import Split

_SECONDS = 600.0
"""Default time limit for a response of a sandboxed agent."""


def isolation_of(options: EvaluationOptions, split: Split) -> Isolation:
    """Return where the user's agents run in an evaluation on a split.

    They are sandboxed if the options say so, and wherever they could read a sealed key.

    Raises:
        UserError: An option has no effect.
    """
    names = [name for name in (options.model, options.opponent) if name]
    has_agent = any(find_provider(name).user_code for name in names)
    if options.isolate and not has_agent:
        raise UserError(f"--isolate: for python: only, not for {' and '.join(map(repr, names))}")
    reason = ""
    if has_agent and split == "sealed":
        reason = "it plays sealed instances"
    elif has_agent and has_sealed_key():
        reason = "the environment names a sealed key"
    elif options.isolate:
        reason = "--isolate"
    if options.memory is not None and not reason:
        raise UserError("--memory goes with --isolate")
    if not reason:
        return Isolation(seconds=options.timeout)
    memory = options.memory or Isolation.memory
    return Isolation("sandbox", memory, options.timeout or _SECONDS, reason)
