"""Types of settings with their bounds; error lines quote the description of a bound."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import ConfigDict, Field, FiniteFloat

from ragen_envs.core.instances import HELD_OUT_SIZE

Count: TypeAlias = Annotated[int, Field(ge=1, description="at least 1")]
NonNegative: TypeAlias = Annotated[int, Field(ge=0, description="at least 0")]
Every: TypeAlias = Annotated[int, Field(ge=0, description="at least 0, which is never")]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=1 << 30, description="at least 0 and below 2**30")]
ZeroOrOne: TypeAlias = Annotated[int, Field(ge=0, le=1, description="0 or 1")]
HeldOutCount: TypeAlias = Annotated[
    int, Field(ge=1, le=HELD_OUT_SIZE, description=f"from 1 to {HELD_OUT_SIZE}")
]
Finite: TypeAlias = Annotated[FiniteFloat, Field(description="finite")]
Positive: TypeAlias = Annotated[FiniteFloat, Field(gt=0, description="above 0 and finite")]
PositiveOrInfinite: TypeAlias = Annotated[float, Field(gt=0, description="above 0")]
Weight: TypeAlias = Annotated[FiniteFloat, Field(ge=0, description="at least 0 and finite")]
Factor: TypeAlias = Annotated[FiniteFloat, Field(ge=1, description="at least 1 and finite")]
AboveOne: TypeAlias = Annotated[FiniteFloat, Field(gt=1, description="above 1 and finite")]
AboveOneOrInfinite: TypeAlias = Annotated[float, Field(gt=1, description="above 1")]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1, description="from 0 to 1")]
ShareAboveZero: TypeAlias = Annotated[float, Field(gt=0, le=1, description="above 0 and at most 1")]
ShareBelowOne: TypeAlias = Annotated[float, Field(ge=0, lt=1, description="at least 0 and below 1")]
InstanceShare: TypeAlias = Annotated[int, Field(ge=1, le=100, description="from 1 to 100")]
PartialShare: TypeAlias = Annotated[float, Field(gt=0, lt=1, description="above 0 and below 1")]
OwnSettings: TypeAlias = dict[str, object]
STRICT = ConfigDict(extra="forbid", strict=False)
"""Refuse unknown settings; convert TOML's types, such as 1 to 1.0."""
