"""Environments by their ids: registered games, external ones that the user named, and opponents."""

from __future__ import annotations

from typing import Any, TypeAlias

from ragen_bench.json_types import JsonObject
from ragen_bench.third_party import ThirdPartyEnv, get_game, registered_ids
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.text_env import AnyTextEnv
from ragen_envs.core.text_game import Info
from ragen_envs.core.two_player import ReplyCount, TwoPlayerEnv
from ragen_envs.integrations.external import find_package
from ragen_envs.registration import find_game, find_reference, is_registered, load_harness_class

AnyEnv: TypeAlias = AnyTextEnv | ThirdPartyEnv
"""An environment as the harness plays it."""


def is_known(env: str) -> bool:
    """Return whether an id is registered, of a known package, or named by the user."""
    return is_registered(env) or env in registered_ids() or find_package(env) is not None


def is_text_env(env: str) -> bool:
    """Return whether an environment is a `TextEnv`, with a random player and an oracle."""
    return is_registered(env) or get_game(env).is_text_env


def has_oracle(env: str) -> bool:
    """Return whether an environment has an oracle, and so normalised scores."""
    return is_registered(env) or get_game(env).has_oracle


def has_noise(env: str) -> bool:
    """Return whether equal actions in an instance may have different results."""
    return is_registered(env) or get_game(env).takes_noise_seed


def reference_note(env: str) -> str:
    """Return a note on the oracle where its score is not an upper bound; "" elsewhere."""
    why = find_reference(env)
    return why and (
        "the oracle is a reference player and its score is not an upper bound, so norm. may be "
        f"above 1: {why}."
    )


def find_class(env: str) -> Any:
    """Return the class that the harness plays, or a `ThirdPartyGame`; KeyError if unknown."""
    return load_harness_class(env) if is_registered(env) else get_game(env)


def third_party_notes(env: str, random_player: bool = False) -> list[str]:
    """Return one line for each feature that an external environment lacks; [] for others."""
    return [] if is_registered(env) else get_game(env).notes(random_player)


def needs_opponent(env: str) -> bool:
    """Return whether an environment is played against a model."""
    return is_registered(env) and env in find_game(env).opponent_ids


def reply_counts(env: str) -> tuple[ReplyCount, ...]:
    """Return an environment's counts of its opponent's replies; () without an opponent."""
    counts: tuple[ReplyCount, ...] = find_class(env).reply_counts if needs_opponent(env) else ()
    return counts


def as_two_player(env: AnyEnv) -> TwoPlayerEnv | None:
    """Return an environment as one that asks an opponent, None if it asks none."""
    return env if isinstance(env, TwoPlayerEnv) else None


def step_by_rule(env: AnyEnv, answer: str) -> tuple[str, float, bool, bool, Info]:
    """Step an environment; where an opponent is asked, with the rule's reply."""
    game = as_two_player(env)
    if game is None:
        return env.step(answer)
    asked = game.opponent_reads(answer) is not None
    return game.step_with(answer, oracle_answer(game.seat) if asked else None)


def describe_replies(env: str, counts: JsonObject) -> str:
    """Return the counts of the opponent's replies in words, with the known rates and intervals."""
    kinds = reply_counts(env)
    texts = []
    for kind in kinds:
        if kind.part_of is None:
            parts = [_describe_part(part, counts) for part in kinds if part.part_of == kind.name]
            text = f"{counts[kind.name]:,} {kind.about}"
            texts.append(f"{text} ({', '.join(parts)})" if parts and counts[kind.name] else text)
    return ", ".join(texts)


def _describe_part(part: ReplyCount, counts: JsonObject) -> str:
    if part.share is None or counts.get(part.share) is None:
        return f"{counts[part.name]:,} {part.about}"
    low, high = counts[f"{part.share}_interval"]
    rate = f"{100 * counts[part.share]:.1f} % [{100 * low:.1f} - {100 * high:.1f}]"
    return f"{rate} {part.about}"
