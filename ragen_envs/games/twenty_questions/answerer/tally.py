"""The replies of an answerer, held against the rule's and counted."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ragen_envs.games.twenty_questions.answerer.replies import Reply
from ragen_envs.games.twenty_questions.answerer.rule import Answer


@dataclass
class ReplyTally:
    """The replies of an answerer in an episode, held against the rule's.

    Attributes:
        rule: the rule's answer to the latest question that was replied to; None where it does not
            understand the question, or nothing was asked yet.
        answer: what the answerer's latest reply was read as; None where it cannot tell or cannot
            be read.
        agrees: whether the two are the same, None where the rule has no answer.
        judged: replies to questions that the rule understands.
        agreed: of them, those that are the rule's.
        wrong: of them, those that are another of Yes, No and Sometimes. The rest say nothing.
        unreadable: replies, judged or not, that could not be read.
    """

    rule: Answer | None = None
    answer: Answer | None = None
    agrees: bool | None = None
    judged: int = 0
    agreed: int = 0
    wrong: int = 0
    unreadable: int = 0

    def add(self, reply: Reply, rule: Answer | None) -> None:
        """Count a reply.

        Args:
            reply: the answerer's.
            rule: what the rule answers, None where it does not understand the question.
        """
        self.rule, self.answer = rule, reply.answer
        self.agrees = None if rule is None else reply.answer == rule
        self.judged += rule is not None
        self.agreed += self.agrees is True
        self.wrong += self.agrees is False and reply.answer is not None
        self.unreadable += not reply.readable

    def figures(self) -> dict[str, str | bool | int | None]:
        """Return all of it by name."""
        return asdict(self)
