"""Twenty Questions as a text environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.protocol import ActionReader, Function
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.twenty_questions import text
from ragen_envs.games.twenty_questions.forms import Answer, Form, Guess, answer, say, with_article
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.probes import PROBES
from ragen_envs.games.twenty_questions.questions import EXAMPLE, QuestionReader
from ragen_envs.games.twenty_questions.solver import Solver
from ragen_envs.games.twenty_questions.splits import GAME, Secret, secrets
from ragen_envs.games.twenty_questions.understanding import understand

_TURNS = Budget(max_turns=20, max_actions_per_turn=1, max_actions=20)


class Asked(NamedTuple):
    """A question with its reply."""

    question: str  # as the player spelled it
    form: Form | None  # None if it was not understood
    reply: Answer | None


@dataclass(frozen=True)
class TwentyQuestionsVariant:
    """One environment of the family, with turns of one question each."""

    name: str  # id without its namespace; also part of the random streams' labels
    held_out: int = 60  # number of words in each of val and test
    new_categories: bool = False  # use categories for val and test that are not in training
    win: int = 100  # reward of the right guess, in hundredths like all points
    cost: int = 1  # penalty of each question
    repeat: int = 10  # extra penalty of a repeated question
    budget: Budget = _TURNS

    def __post_init__(self) -> None:
        if self.budget.max_actions_per_turn != 1:
            raise ValueError(f"{self.name}: set max_actions_per_turn=1; a turn has one question")


VARIANTS = by_name(
    TwentyQuestionsVariant("TwentyQuestions-v0"),
    TwentyQuestionsVariant("TwentyQuestionsNewCategories-v0", held_out=31, new_categories=True),
)


@cache
def solver() -> Solver:
    """Return the solver of all words, made once per process."""
    return Solver(load())


class TwentyQuestionsEnv(TextEnv[TwentyQuestionsVariant, Secret]):
    """Find the secret word of an honest answerer by asking questions in plain English.

    | | |
    | --- | --- |
    | actions | any text is one question or one guess, cut to 200 characters; what is not printable ASCII becomes a blank. Actions have no separator. The reply is Yes, No or Sometimes. A question that is not understood, or whose reply is unknown, is answered "I cannot tell, please rephrase", and costs the turn. |
    | rewards | +1 for the right guess; -0.01 for each question; an extra -0.1 for one that was asked before, in the same words or with the same meaning; -0.1 once, instead of -0.01, for a turn with a broken format or without a question |
    | ends | terminated by the right guess; truncated after 20 turns. The twentieth may be the guess. The last observation names the word. |
    | success | the word was guessed: its name or an alias, with an article or without. A guess of several words is answered and never wins. A wider name, such as a chair for an armchair, is answered Yes and does not win. |
    | instances | everyday nouns in categories of about 20: 3 words of each of 20 categories are val, 3 others test, the rest train. Three other categories are the val and test of TwentyQuestionsNewCategories-v0 alone, 31 words each, whose train words are those of TwentyQuestions-v0. As all words are public, there is no sealed split. |
    | randomness | none: `noise_seed` changes nothing |
    | info | `ceiling` 1.0; `questions`: number of questions so far; `repeats`: of these, repeated ones; `unparsed`: of these, ones that were not understood or whose reply is unknown |
    | oracle | asks the standard question with the most information about all words of the knowledge, and guesses when at most two words remain or in the last turn. It does not know the word. It uses the replies to all questions that were understood. |

    `info["action_is_effective"]`: the question was understood, and not asked before.
    `info["legal_actions"]` lists the standard questions and a guess of each word of the knowledge, the
    same in every instance; any other text is valid too. The random player chooses
    among them uniformly, without using the replies; exactly one of them is the right guess.

    Players on the test words (`benchmarks/twenty_questions_players.py`); turns are means of all
    episodes, and mean@8 is the mean success of eight episodes on each word:

    | player | success | mean@8 | turns | new categories: mean@8 | turns |
    | --- | --- | --- | --- | --- | --- |
    | random | 0.02 | 0.02 | 19.8 | 0.02 | 19.9 |
    | category ladder: asks the kinds from the top down, then guesses in order | 0.72 | 0.72 | 14.3 | 0.61 | 14.6 |
    | oracle | 1.00 | 1.00 | 7.0 | 1.00 | 6.7 |

    The harness reports the same with `ragen-bench evaluate MODEL --env TwentyQuestions-v0 --samples 8`;
    [results](../results/twenty-questions.md) show the interval of each value, how many unseen questions
    the reader understands, and how a small model plays.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/TwentyQuestions-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("Could it be an animal?")
    assert observation.splitlines()[1:] == ["1. Could it be an animal? No"]
    assert info["questions"] == 1 and info["unparsed"] == 0
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    variants = VARIANTS
    game = GAME
    held_out_files = "words/{name}-{split}.txt"
    has_sealed = False
    stochastic = False
    example = EXAMPLE
    functions = (
        Function("ask", "Ask a question or guess the word.", "question", "In plain English."),
    )
    has_fixed_actions = True
    probes = PROBES

    @classmethod
    def held_out_size(cls, name: str) -> int:
        known = cls.variants.get(name)
        return known.held_out if known else super().held_out_size(name)

    @property
    def secret(self) -> str:
        return self._secret

    @property
    def asked(self) -> tuple[Asked, ...]:
        return tuple(self._asked)

    def generate_instances(self, stream: RandomStream) -> Iterator[Secret | None]:
        words = secrets(self.variant.new_categories)
        while True:
            yield words[stream.below(len(words))]

    def write_instance(self, instance: Secret) -> tuple[str, dict[str, object]]:
        return instance.word, {"category": instance.category}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Secret:
        return Secret(body, fields["category"])

    def start_instance(self, instance: Secret) -> ActionReader:
        self._secret = instance.word
        self._asked: list[Asked] = []
        self._repeats = 0
        return QuestionReader()

    def apply_action(self, action: int) -> tuple[int, bool]:
        question = self.action_reader.actions[action]
        form = understand(question, load())
        repeated = any(
            question.lower() == earlier.question.lower()
            or (form is not None and form == earlier.form)
            for earlier in self._asked
        )
        reply = self._reply(form)
        self._asked.append(Asked(question, form, reply))
        self._repeats += repeated
        points = -self.variant.cost - self.variant.repeat * repeated
        if isinstance(form, Guess) and form.name == self._secret:
            self.terminated = self.success = True
            points += self.variant.win
        return points, reply is not None and not repeated

    def _reply(self, form: Form | None) -> Answer | None:
        """Return the rule's reply to a question; subclasses override it for another answerer."""
        if form is None:
            return None
        knowledge = load()
        return answer(form, knowledge.concepts[self._secret], knowledge)

    def compute_extra_info(self) -> dict[str, float]:
        return {
            "questions": float(len(self._asked)),
            "repeats": float(self._repeats),
            "unparsed": float(sum(asked.reply is None for asked in self._asked)),
        }

    def describe_rules(self) -> str:
        v = self.variant
        return text.rules(self.budget.max_turns, v.cost, v.repeat, v.win)

    def render_state(self) -> str:
        transcript = text.transcript([(asked.question, asked.reply) for asked in self._asked])
        if self.is_running:
            return transcript
        return f"{transcript}\n{text.ending(with_article(self._secret, load()), self.success)}"

    def find_best_actions(self) -> tuple[str, ...]:
        understood = [(asked.form, asked.reply) for asked in self._asked if asked.form is not None]
        ask = solver().next if self.turns_left > 1 else solver().guess
        return (say(ask(understood), load()),)
