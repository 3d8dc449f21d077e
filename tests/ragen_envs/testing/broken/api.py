"""Mistakes in resets, spaces, closing and answers."""

import gymnasium

from tests.ragen_envs.testing.lamps import LampEnv, subject_of


class ResetsToAnObservation(LampEnv):
    def reset(self, **arguments):
        return super().reset(**arguments)[0]


class SpaceForgetsAFeedback(LampEnv):
    def play(self, answer):
        return "it opens!" if super().play(answer) == "it opens." else "shut."


class ActionsAreNumbers(LampEnv):
    def __init__(self, split="train"):
        super().__init__(split)
        self.action_space = gymnasium.spaces.Discrete(2)


class ReleasesTwice(LampEnv):
    file: object = ()

    def close(self):
        len(self.file)
        self.file = None


class ForgetsNpRandom(LampEnv):
    def reset(self, *, seed=None, options=None):
        self.path = self.draw(seed or 0)
        self.noise = self.noise_of(seed or 0, (options or {}).get("noise_seed", 0))
        self.door = self.turn = 0
        self.running = True
        return self.text("lamps."), self.info()


class Encodes(LampEnv):
    def play(self, answer):
        answer.encode()
        return super().play(answer)


BROKEN = {
    "reset_and_step": (
        subject_of(ResetsToAnObservation),
        "reset(seed=0) returned str, not 2",
        "the signature of an older Gym",
    ),
    "observation_space": (
        subject_of(SpaceForgetsAFeedback),
        "has ['!'], not in the charset",
        "the space was declared for the board alone",
    ),
    "action_space": (
        subject_of(ActionsAreNumbers),
        "seed 0: action_space samples a int64, not a str",
        "the space is that of the game's moves",
    ),
    "close_twice": (
        subject_of(ReleasesTwice),
        "the second close() raised TypeError: object of type 'NoneType' has no len() (api.py:",
        "does not note that it is gone",
    ),
    "gymnasium_checker": (
        subject_of(ForgetsNpRandom),
        "check_env: Expects the random number generator to have been generated",
        "`reset` without `super().reset(seed=seed)`",
    ),
    "hostile_text": (
        subject_of(Encodes),
        "the answer 'lone high surrogate': seed 0, turn 1: step('\\ud800') raised "
        "UnicodeEncodeError: 'utf-8' codec",
        "a table looked up by the raw answer, int(answer), answer.split()[0], .encode()",
    ),
}
