"""Twenty Questions: failures by questions that were not understood, and by wrong guesses."""

from __future__ import annotations

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode, FinishedTurn
from ragen_envs.games.twenty_questions.env import Asked, TwentyQuestionsEnv
from ragen_envs.games.twenty_questions.forms import Guess, answer
from ragen_envs.games.twenty_questions.knowledge.loader import load


class TwentyQuestionsFailures(FailureLabeler):
    """Reads episodes of Twenty Questions."""

    def read_state(self, env: TwentyQuestionsEnv) -> tuple[Asked, ...]:
        return env.asked  # no state occurs twice

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        lost = self.find_excused_turns(episode)
        if lost and 2 * len(lost) >= len(episode.steps):
            return Failure("mostly_unparsed", lost[0])
        return None

    def find_excused_turns(self, episode: FinishedEpisode) -> list[int]:
        # Rephrasing a question without a reply is not a loop.
        return [s.number for s in episode.steps if s.actions and s.after[-1].reply is None]

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        asking = (step for step in episode.steps if len(step.after) > len(step.before))
        guesses = [step for step in asking if isinstance(step.after[-1].form, Guess)]
        if not guesses:
            return Failure("never_guessed", len(episode.steps))
        for step in guesses:
            if _is_ruled_out(step):
                return Failure("ruled_out_guess", step.number)
        return Failure("wrong_guesses", guesses[-1].number)


def _is_ruled_out(step: FinishedTurn) -> bool:
    knowledge = load()
    # A word outside the knowledge cannot disagree.
    word = knowledge.concepts.get(step.after[-1].form.name)
    return word is not None and any(
        asked.form and asked.reply and answer(asked.form, word, knowledge) != asked.reply
        for asked in step.before
    )
