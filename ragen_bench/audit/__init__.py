"""Verification of the suite's guarantees on the user's machine."""

from ragen_bench.audit.environment import Audit, audit_environment, count_guarantees, count_steps
from ragen_bench.audit.subjects import suite_subject, third_party_subject

__all__ = [
    "Audit",
    "audit_environment",
    "count_guarantees",
    "count_steps",
    "suite_subject",
    "third_party_subject",
]
