"""What vLLM is asked in its environment, and transformers in the other one."""

from ragen_bench.models import Request, Sampling
from ragen_bench.models.prompt import conversation
from ragen_bench.suites import make_env

STOP = "</answer>"
CONTEXT = 512
GREEDY = Sampling(temperature=0, max_tokens=24, stop=STOP, seed=0)
SAMPLED = Sampling(temperature=1.0, max_tokens=16, stop=STOP, seed=3)
FIRST_TOKEN = Sampling(temperature=1.0, max_tokens=1, stop=STOP, seed=0)
FORCED = Sampling(temperature=1.0, max_tokens=120, stop=STOP, seed=0, constrain=True)
FIRST_TOKENS = 120
GAMES = ("ragen/Bandit-v0", "ragen/Sokoban-v0", "ragen/FrozenLake-v0")
FORMS = ("think", "answer", "plain")
_SHORT = (
    "Name a colour.",
    "Count up from one, one number a line, to 99.",
    "Hello!",
    "Name three animals.",
    "Which day comes after Monday?",
    "Who are you?",
)


def question(text, key=""):
    env = make_env("ragen/Bandit-v0", "val", "think")
    return Request([{"role": "user", "content": text}], key or text, env)


def short_questions():
    return [question(text) for text in _SHORT]


def many_times(count):
    """Return the shortest of questions, since reading it is what a first token costs."""
    env = question("").env
    messages = [{"role": "system", "content": ""}, {"role": "user", "content": _SHORT[0]}]
    return [Request(messages, f"time {i}", env) for i in range(count)]


def first_turns():
    """Return the first turn of each game, each in a form of its own."""
    turns = []
    for game, form in zip(GAMES, FORMS, strict=True):
        env = make_env(game, "val", form)
        observation, _ = env.reset(seed=0)
        messages = conversation([observation], [], form)
        turns.append(Request(messages, f"{game}/{form}", env))
    return turns
