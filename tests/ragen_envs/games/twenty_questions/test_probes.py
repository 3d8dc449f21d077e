"""The probes ask in many ways for what the standard questions do not ask in these words."""

from ragen_envs.games.twenty_questions.env import TwentyQuestionsEnv
from ragen_envs.games.twenty_questions.forms import answer
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.probes import PROBES
from ragen_envs.games.twenty_questions.understanding import understand


def test_probes_are_no_standard_questions():
    env = TwentyQuestionsEnv("TwentyQuestions-v0")
    env.reset(seed=0)
    assert len(PROBES) == 56
    assert not set(PROBES) & set(env.legal_actions)


def test_probes_are_of_all_forms_and_replies():
    knowledge = load()
    forms = [understand(probe, knowledge) for probe in PROBES]
    assert forms.count(None) == 3
    assert {type(form).__name__ for form in forms if form} == {
        *("IsKind", "Has", "Knows", "IsNoun", "Compare", "Letter", "Length", "Guess"),
        *("Not", "And", "Either", "Narrowed"),
    }
    word = knowledge.concepts["polar bear"]
    replies = {answer(form, word, knowledge) for form in forms if form}
    assert replies == {"Yes", "No", "Sometimes", None}
