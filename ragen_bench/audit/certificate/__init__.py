"""An environment's certificate: answers to OpenEnv's questions, with reproducible evidence."""

from ragen_bench.audit.certificate.answers import Answer
from ragen_bench.audit.certificate.document import Certificate, certify
from ragen_bench.audit.certificate.evidence import EPISODES, Evidence
from ragen_bench.audit.certificate.questions import OPENENV, POLICY, QUESTIONS, Question

__all__ = [
    "EPISODES",
    "OPENENV",
    "POLICY",
    "QUESTIONS",
    "Answer",
    "Certificate",
    "Evidence",
    "Question",
    "certify",
]
