"""Twenty Questions for two agents: an asker and an answerer."""

from __future__ import annotations

from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv  # type: ignore[import-untyped]

from ragen_envs.core.arguments import one_of
from ragen_envs.core.game_spec import NAMESPACE
from ragen_envs.core.instances import Split
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.protocol import RESPONSE_FORMATS, AnswerFormat, ResponseFormat
from ragen_envs.core.text_game import Info
from ragen_envs.games.twenty_questions.answerer import (
    REPLIES,
    WRONG,
    AnswererSeat,
    Question,
    question_state,
    render_prompt,
    report_reading,
)
from ragen_envs.games.twenty_questions.env import VARIANTS
from ragen_envs.games.twenty_questions.forms import with_article
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.model import TwoPlayerQuestionsEnv
from ragen_envs.integrations.pettingzoo.agents import Observation, OrderCheck, TurnsEnv

ASKER, ANSWERER = "asker", "answerer"
QUESTION_IDS = tuple(f"{NAMESPACE}/{name}" for name in VARIANTS)
"""Ids of the games for two agents."""


class QuestionsEnv(TurnsEnv):
    """Twenty Questions in which the answerer is an agent, too.

    The asker has the observations and rewards of the single-player game. The answerer is next after
    a question. After a guess, or a response without a question, the asker is next again, since the
    game decides guesses itself.

    The two cooperate. The asker's reward is the game's. The answerer's is the win, less 0.1 for
    each Yes, No or Sometimes that differs from the rule's answer. A question that the rule does not
    understand costs nothing.

    The answerer's `info` has `success`, `turn`, `instance` and `index` of the game, the
    `legal_actions`, the flags `format_is_valid`, `action_is_valid` (it was readable) and
    `answer_is_example` of its latest reply, and the counts of `ReplyTally`.
    """

    _env: TwoPlayerQuestionsEnv

    def __init__(self, env: TwoPlayerQuestionsEnv) -> None:
        super().__init__(env, [ASKER, ANSWERER])
        self.seat: AnswererSeat | None = None
        """The answerer's view, for `ragen_envs.core.policies`; None without a pending question."""

    @property
    def question(self) -> Question | None:
        """The question that the answerer must reply to, or None."""
        return None if self.seat is None else self.seat.question

    @property
    def answerer_format(self) -> ResponseFormat:
        """Response format of the answerer."""
        return self._env.opponent_format

    def observe(self, agent: str) -> Observation:
        """Return the agent's observation: the game's text for the asker, else the question."""
        if agent == ASKER:
            return {"text": self._text}
        env, question = self._env, self.question
        word = with_article(env.secret, load())
        state = question_state(word, env.asked, question.text if question else None)
        if self._over:
            state += f"\nThe word was {'found' if self._info['success'] else 'not found'}."
        if self._news:
            return {"text": self._news + state}
        return {"text": render_prompt(env.variant, state, env.opponent_format)}

    def _start(self, seed: int | None, options: Info | None) -> None:
        self._text, self._info = self._reset_game(seed, options)
        self.seat, self._asked, self._news = None, "", ""
        self._flags = dict.fromkeys(
            ("format_is_valid", "action_is_valid", "answer_is_example"), False
        )
        self._over = self._terminated = False

    def _turn(self, agent: str, response: str) -> dict[str, float]:
        points = self._ask(response) if agent == ASKER else self._reply(response)
        return {name: points.get(name, 0) / 100 for name in self.agents}

    def _next_agent(self) -> str:
        return ASKER if self.seat is None else ANSWERER

    def _ask(self, answer: str) -> dict[str, int]:
        """Take the asker's response; return each agent's hundredths of reward."""
        if self._env.opponent_reads(answer) is not None:
            self._asked, self.seat = answer, self._env.seat
            return {}
        points = self._run(answer, None)
        return {ASKER: points, ANSWERER: self._env.variant.win * self._info["success"]}

    def _reply(self, text: str) -> dict[str, int]:
        assert self.seat is not None
        reply, format_is_valid, is_example = self.seat.read(text)
        self.seat = None
        self._flags = {
            "format_is_valid": format_is_valid,
            "action_is_valid": reply.readable,
            "answer_is_example": is_example,
        }
        self._news = f"{report_reading(reply, format_is_valid)}\n"
        wrong = self._env.tally.wrong
        points = self._run(self._asked, text)
        return {ASKER: points, ANSWERER: -WRONG * (self._env.tally.wrong - wrong)}

    def _run(self, answer: str, reply: str | None) -> int:
        """Run a turn of the game, and return its hundredths of reward."""
        self._text, reward, self._terminated, truncated, self._info = self._env.step_with(
            answer, reply
        )
        self._over = self._terminated or truncated
        return round(100 * reward)

    def _report(self) -> None:
        game = {key: self._info[key] for key in ("success", "turn", "instance", "index")}
        legal = {"legal_actions": () if self._over else REPLIES}
        answerer = game | legal | self._flags | self._env.tally.figures()
        # As in the single-player game, the asker's info has no counts of the rule.
        counts = {count.name for count in self._env.reply_counts}
        asker = {key: value for key, value in self._info.items() if key not in counts}
        self.infos = {ASKER: asker, ANSWERER: answerer}
        self.terminations = dict.fromkeys(self.agents, self._terminated)
        self.truncations = dict.fromkeys(self.agents, self._over and not self._terminated)


def questions_env(
    id: str = QUESTION_IDS[0],
    *,
    split: Split = "train",
    response_format: AnswerFormat = "think",
    answerer_format: ResponseFormat | None = None,
    render_mode: str | None = None,
) -> AECEnv[str, Observation, str]:
    """Return Twenty Questions for the agents "asker" and "answerer", see `QuestionsEnv`.

    The id is one of `QUESTION_IDS`. The answerer's response format is by default the asker's.
    ValueError if an argument is invalid.
    """
    name = one_of("id", id, QUESTION_IDS).removeprefix(f"{NAMESPACE}/")
    if answerer_format is not None:
        one_of("answerer_format", answerer_format, RESPONSE_FORMATS)
    env = TwoPlayerQuestionsEnv(name, split, response_format, render_mode, answerer_format)
    return OrderCheck(QuestionsEnv(env))


def rule_answer(env: AECEnv[str, Observation, str]) -> str:
    """Return the rule's reply to the question, in the response format.

    Raises:
        ResetNeeded: No episode is running.
        ValueError: It is the asker's turn.
    """
    bare = env.unwrapped
    if not bare.agents or not bare.text_env(ANSWERER).legal_actions:
        raise ResetNeeded("the episode is over or never began: call reset() first")
    if bare.seat is None:
        raise ValueError("no question waits for a reply; it is the asker's turn")
    return oracle_answer(bare.seat)
