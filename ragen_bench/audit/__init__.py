"""The suite's guarantees, proved on the user's machine."""

from ragen_bench.audit.environment import Audit, audit_environment, count_guarantees, steps_of
from ragen_bench.audit.subjects import suite_subject, third_party_subject

__all__ = [
    "Audit",
    "audit_environment",
    "count_guarantees",
    "steps_of",
    "suite_subject",
    "third_party_subject",
]
