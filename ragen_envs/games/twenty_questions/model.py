"""Twenty Questions as a two-player game: a model or a person answers instead of the rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import ClassVar, TypeAlias

from ragen_envs.core.arguments import one_of
from ragen_envs.core.instances import RandomStream, Split, draw
from ragen_envs.core.protocol import (
    RESPONSE_FORMATS,
    ActionReader,
    AnswerFormat,
    ResponseFormat,
    written_form,
)
from ragen_envs.core.rewards import RewardFn
from ragen_envs.core.text_game import Info
from ragen_envs.core.two_player import ReplyCount, ReplyReport, TwoPlayerEnv
from ragen_envs.games.twenty_questions.answerer import AnswererSeat, Question, Reply
from ragen_envs.games.twenty_questions.env import VARIANTS as WITH_RULE
from ragen_envs.games.twenty_questions.env import TwentyQuestionsEnv, TwentyQuestionsVariant
from ragen_envs.games.twenty_questions.forms import Answer, Form, Guess
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.splits import Secret
from ragen_envs.games.twenty_questions.text import REPHRASE
from ragen_envs.games.twenty_questions.understanding import understand

Answerer: TypeAlias = Callable[[str], str]
"""Function from an answerer's prompt to its whole text."""
_WORDS_OF = {"TwentyQuestionsModel-v0": "TwentyQuestions-v0"}
"""The game with the rule whose words and seeds a variant shares."""
VARIANTS = {name: replace(WITH_RULE[of], name=name) for name, of in _WORDS_OF.items()}


@dataclass
class ReplyTally:
    """Counts of an answerer's replies in an episode, compared with the rule's.

    `OpponentEnv` explains the counts. The first three fields are about the latest question.
    """

    rule: Answer | None = None  # None if the rule does not understand the question
    answer: Answer | None = None  # None if it cannot tell or is not readable
    agrees: bool | None = None  # None if the rule has no reply
    judged: int = 0
    agreed: int = 0
    wrong: int = 0
    unreadable: int = 0

    def add(self, reply: Reply, rule: Answer | None) -> None:
        self.rule, self.answer = rule, reply.answer
        self.agrees = None if rule is None else reply.answer == rule
        self.judged += rule is not None
        self.agreed += self.agrees is True
        self.wrong += self.agrees is False and reply.answer is not None
        self.unreadable += not reply.readable

    def figures(self) -> dict[str, str | bool | int | None]:
        return asdict(self)


class TwoPlayerQuestionsEnv(TwentyQuestionsEnv, TwoPlayerEnv):
    """Twenty Questions in which a model or a person answers the questions.

    Everything else is as in the game. The game itself decides guesses, so no answerer can give away
    or deny the win. `step_with` runs a turn with the answerer's text, whose response format is by
    default the player's.
    """

    reply_counts: ClassVar = (
        ReplyCount("judged", "to questions that the rule understands"),
        ReplyCount("agreed", "as the rule answers", part_of="judged", share="agreement"),
        ReplyCount("wrong", "another answer than the rule's", part_of="judged"),
        ReplyCount("unreadable", "not readable"),
    )
    _given: Answer | None = None

    def __init__(
        self,
        variant: str | TwentyQuestionsVariant,
        split: Split = "train",
        response_format: AnswerFormat = "think",
        render_mode: str | None = None,
        opponent_format: ResponseFormat | None = None,
        *,
        reward_fn: RewardFn | None = None,
        oracle_info: bool = False,
    ) -> None:
        super().__init__(
            *(variant, split, response_format, render_mode),
            reward_fn=reward_fn,
            oracle_info=oracle_info,
        )
        self.opponent_format = one_of(
            "opponent_format", opponent_format or written_form(response_format), RESPONSE_FORMATS
        )
        self._tally = ReplyTally()
        self._latest: Reply | None = None
        self._waiting: tuple[str, AnswererSeat | None] | None = None

    def opponent_reads(self, answer: str) -> str | None:
        """Return the answerer's prompt, None if there is no question or it is a guess."""
        seat = self._seat_for(answer)
        return None if seat is None else seat.text

    @property
    def seat(self) -> AnswererSeat:
        if self._waiting is None or self._waiting[1] is None:
            raise ValueError("no question waits for a reply: call opponent_reads(answer) first")
        return self._waiting[1]

    @property
    def tally(self) -> ReplyTally:
        """A copy of the counts of the episode's replies so far."""
        return replace(self._tally)

    @property
    def reply_record(self) -> dict[str, str | bool | None]:
        if self._latest is None:
            raise ValueError("nobody has replied yet in this episode")
        return {
            "rule": self._tally.rule,
            "read": self._tally.answer,
            "readable": self._latest.readable,
            "agrees": self._tally.agrees,
        }

    @staticmethod
    def report_reply(record: Mapping[str, object]) -> ReplyReport:
        rule, read, readable, agrees = (
            record.get(name) for name in ("rule", "read", "readable", "agrees")
        )
        silent = "nothing: it does not understand the question"
        figures = (
            ("Read as", str(read or REPHRASE) if readable else "not readable"),
            ("The rule says", str(rule or silent)),
            ("Agrees", "not judged" if agrees is None else "yes" if agrees else "no"),
        )
        remarks = ("wrong",) if agrees is False and read is not None else ()
        return ReplyReport(figures, remarks if readable else (*remarks, "not readable"))

    def step_with(self, answer: str, reply: str | None) -> tuple[str, float, bool, bool, Info]:
        observation, reward, terminated, truncated = self._run(answer, reply)
        return observation, reward, terminated, truncated, self.build_info()

    def _run(self, answer: str, reply: object) -> tuple[str, float, bool, bool]:
        """Run a turn as `step_with` does, and return all but `info`."""
        seat = self._seat_for(answer)
        if reply is not None and not isinstance(reply, str):
            raise TypeError(f"the opponent's text is a str or None, got {type(reply).__name__}")
        if seat is not None and reply is None:
            raise ValueError(
                f"the opponent is asked {seat.question.text!r}, so its text is needed, not None"
            )
        if seat is None and reply is not None:
            raise ValueError("the opponent is not asked by this answer, so its text is None")
        self._given = None
        if seat is not None and reply is not None:
            self._latest = seat.read(reply).reply
            self._tally.add(self._latest, seat.question.rule)
            self._given = self._latest.answer
        return super().play_turn(answer)

    def play_turn(self, action: str) -> tuple[str, float, bool, bool]:  # noqa: ARG002 (as in every game)
        raise TypeError(
            f"{type(self).__name__} takes no bare step, as another answers the questions: "
            "call step_with(answer, reply)"
        )

    def _reply(self, form: Form | None) -> Answer | None:
        return super()._reply(form) if isinstance(form, Guess) else self._given

    def _seat_for(self, answer: str) -> AnswererSeat | None:
        # Understand a question once, though opponent_reads and step_with both need it.
        if self._waiting is not None and self._waiting[0] == answer:
            return self._waiting[1]
        if not isinstance(answer, str):
            raise TypeError(f"an answer is a str, got {type(answer).__name__}")
        seat = None
        for text in self.read(answer)[1]:
            form = understand(text, load())
            if not isinstance(form, Guess):
                asked, question = self.asked, Question(text, super()._reply(form))
                seat = AnswererSeat(
                    self.variant, self.secret, asked, question, self.opponent_format
                )
        self._waiting = answer, seat
        return seat

    def start_instance(self, instance: Secret) -> ActionReader:
        self._tally, self._latest, self._waiting = ReplyTally(), None, None
        return super().start_instance(instance)

    def end_turn(self) -> None:
        self._waiting = None

    def compute_extra_info(self) -> dict[str, float]:
        names = [count.name for count in self.reply_counts]
        return super().compute_extra_info() | {n: float(getattr(self._tally, n)) for n in names}


class OpponentEnv(TwoPlayerQuestionsEnv):
    """Find the word by asking another model: Twenty Questions with a model instead of the rule.

    | | |
    | --- | --- |
    | as in the game | actions, rewards, ends, success, instances (the same words, under the same seeds), randomness, oracle. The game decides guesses, so no answerer gives away or denies the win. |
    | replies | Yes, No, Sometimes or "I cannot tell, please rephrase", in the answerer's response format. Case, punctuation and a repetition in a sentence ("Yes, it can fly.") do not matter; nothing else is interpreted. A reply that is not readable, or whose format is broken, is reported to the player as "I cannot tell, please rephrase". |
    | prompt of the answerer | its task, the word, the questions so far with their replies, the question, the format of a reply: self-contained for each question, so the answerer needs no memory |
    | info | as in the game, where `unparsed` counts the questions without a Yes, No or Sometimes; counts of replies, `judged`: replies to questions that the rule understands; `agreed` and `wrong`: of these, ones equal to the rule's, and ones that are another of Yes, No and Sometimes; `unreadable`: replies, judged or not, that are not readable |
    | `ceiling` | 1.0 for an answerer without mistakes; for others the expected score of the best player is unknown |

    A score depends on the answerer. So the id is not part of a suite or a leaderboard, and its scores
    are not comparable with those of TwentyQuestions-v0. With the rule's replies both games are
    identical, turn by turn.

    `gymnasium.make` takes `answerer`, a function from the answerer's prompt to its whole text;
    and `answerer_format`, its response format, the player's by default:

    ```python
    import gymnasium, ragen_envs


    def ask_model(text):
        # A model is asked here, with the text as the one message. This one always agrees.
        return "Yes, it is."


    env = gymnasium.make(
        "ragen/TwentyQuestionsModel-v0",
        answerer=ask_model,
        answerer_format="plain",
        split="test",
    )
    observation, info = env.reset(seed=0)
    answer = "<think>I begin with life.</think><answer>Is it alive?</answer>"
    observation, reward, terminated, truncated, info = env.step(answer)
    assert observation.splitlines()[1:] == ["1. Is it alive? Yes"]
    assert (info["judged"], info["agreed"], info["wrong"]) == (1, 1, 0)
    ```

    The answerer is asked once per question, and not for guesses. If it raises, the game is unchanged.
    A program that gets the replies from elsewhere, such as from a batch, steps
    `ragen_envs.games.twenty_questions.model.OpponentEnv`: `opponent_reads(answer)` returns the
    answerer's prompt, or None if no reply is needed, and `step_with(answer, reply)` runs the turn.
    """  # noqa: E501 (a Markdown table has one row a line)

    variants = VARIANTS
    held_out_files = "words/TwentyQuestions-v0-{split}.txt"

    def get_instance(self, seed: int) -> Secret:
        if self.split != "train":
            return super().get_instance(seed)
        name = _WORDS_OF.get(self.variant.name, self.variant.name)
        return draw(self.generate_instances, RandomStream("instance", name, "train", seed), "train")


class ModelEnv(OpponentEnv):
    """`OpponentEnv` for Gymnasium: `step` asks a function for the replies."""

    def __init__(
        self,
        variant: str | TwentyQuestionsVariant,
        split: Split = "train",
        response_format: AnswerFormat = "think",
        render_mode: str | None = None,
        answerer_format: ResponseFormat | None = None,
        answerer: Answerer | None = None,
        *,
        reward_fn: RewardFn | None = None,
        oracle_info: bool = False,
    ) -> None:
        if answerer_format is not None:
            one_of("answerer_format", answerer_format, RESPONSE_FORMATS)
        super().__init__(
            *(variant, split, response_format, render_mode, answerer_format),
            reward_fn=reward_fn,
            oracle_info=oracle_info,
        )
        name = self.variant.name
        if answerer is None:
            raise ValueError(
                f"{name} needs an answerer, a function from the text of a question to that of its "
                f'reply: gymnasium.make("ragen/{name}", answerer=lambda text: ...)'
            )
        if not callable(answerer):
            raise TypeError(f"answerer must be a function, got {type(answerer).__name__}")
        self._answerer = answerer

    def play_turn(self, action: str) -> tuple[str, float, bool, bool]:
        # The answerer is asked first: if it raises, the game is unchanged.
        text = self.opponent_reads(action)
        reply: object = None if text is None else self._answerer(text)
        if text is not None and not isinstance(reply, str):
            name = getattr(self._answerer, "__name__", type(self._answerer).__name__)
            raise TypeError(f"the answerer {name} returned {type(reply).__name__}, not a str")
        return self._run(action, reply)
