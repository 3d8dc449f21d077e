"""What decides an episode, against slow references that know nothing of the solvers."""

import itertools

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragen_bench.analysis import find_failure
from ragen_bench.suites import make_env
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_answer
from ragen_envs.games.frozen_lake.failures import chance_of
from ragen_envs.games.frozen_lake.rules import ACTIONS as CLOCKWISE
from ragen_envs.games.webshop.failures import _turns_to_win
from ragen_envs.games.webshop.goals import price_of
from ragen_envs.games.webshop.pages import click, labels, option_labels, run_search
from ragen_envs.games.webshop.reward import reward_of
from tests.cases import examples
from tests.ragen_bench.analysis.support import moves, played

PUSHES = {"Up": (-1, 0), "Down": (1, 0), "Left": (0, -1), "Right": (0, 1)}


class Room:
    """Sokoban as anyone would write it, on the level's own text."""

    def __init__(self, xsb):
        squares = {(y, x): c for y, row in enumerate(xsb.split("\n")) for x, c in enumerate(row)}
        self.walls = {s for s, c in squares.items() if c == "#"}
        self.targets = {s for s, c in squares.items() if c in ".+*"}
        boxes = frozenset(s for s, c in squares.items() if c in "$*")
        (player,) = (s for s, c in squares.items() if c in "@+")
        self.first = player, boxes

    def after(self, state, move):
        (y, x), boxes = state
        dy, dx = PUSHES[move]
        ahead, beyond = (y + dy, x + dx), (y + 2 * dy, x + 2 * dx)
        if ahead in self.walls:
            return state
        if ahead in boxes:
            if beyond in self.walls or beyond in boxes:
                return state
            boxes = boxes - {ahead} | {beyond}
        return ahead, boxes

    def can_be_solved(self, state):
        """Search forward through every state that can be reached."""
        seen, waiting = {state}, [state]
        while waiting:
            now = waiting.pop()
            if now[1] == self.targets:
                return True
            for move in PUSHES:
                further = self.after(now, move)
                if further not in seen:
                    seen.add(further)
                    waiting.append(further)
        return False


@settings(max_examples=examples(120))
@given(
    st.sampled_from(["Sokoban", "SokobanCoord"]),
    st.integers(0, 255),
    st.lists(st.text("UDLR", min_size=1, max_size=5), min_size=10, max_size=10),
)
def test_the_first_dead_turn_is_the_first_that_no_search_can_solve(name, index, script):
    room = Room(make_env(f"ragen/{name}-v0", "test", "plain").get_instance(index).xsb)
    state, left, dead, used, solved = room.first, 10, None, [], False
    for number, letters in enumerate(script[:5], start=1):
        used.append(moves(letters))
        for word in used[-1].split(" || ")[:left]:
            state, left = room.after(state, word), left - 1
            solved = solved or state[1] == room.targets
        if solved or not left:
            break
        if dead is None and not room.can_be_solved(state):
            dead = number
    if dead is None and not solved and not room.can_be_solved(state):
        dead = number
    failure = find_failure(played(name, index, used))
    if solved:
        assert failure is None
    elif dead is None:
        assert failure.label != "deadlock"
    else:
        assert (failure.label, failure.turn) == ("deadlock", dead)


def odds_of(lake, slip, square, plan):
    """Return the odds of each square after a plan, roll by roll."""
    odds = {}
    for rolls in itertools.product(range(slip.total), repeat=len(plan)):
        now = square
        for action, roll in zip(plan, rolls, strict=True):
            if lake.map[now] not in "HG":
                side = 0 if roll < slip.intended else 1 if roll < slip.intended + slip.aside else 3
                now = lake.neighbours[now][(action + side) % 4]
        odds[now] = odds.get(now, 0) + 1 / slip.total ** len(plan)
    return odds


@settings(max_examples=examples(60))
@given(st.integers(0, 255), st.integers(0, 31), st.text("UDLR", min_size=2, max_size=4))
def test_the_chance_of_the_last_turn_is_that_of_counting_rolls(index, sample, letters):
    """After the last turn there is no further play; only a turn that ended may be added to."""
    episode = played("FrozenLake", index, [""] * 4 + [moves(letters)], sample)
    lake, slip = episode.instance, episode.env.variant.slip
    last = episode.steps[-1]
    ran = tuple(CLOCKWISE.index(name) for name in last.actions)
    room = 5 - len(ran) if lake.map[last.after] in "HG" else 0
    assume(room <= 3)
    plans = (
        ran + more for size in range(room + 1) for more in itertools.product(range(4), repeat=size)
    )
    goal = lake.map.index("G")
    best = max(odds_of(lake, slip, lake.start, plan).get(goal, 0) for plan in plans)
    assert abs(chance_of(episode, last) - best) < 1e-9


def test_the_oracle_never_chooses_badly():
    for name in ("FrozenLake", "FrozenLakeMild", "FrozenLakeLarge"):
        for index in range(12):
            failure = find_failure(played(name, index, "oracle", sample=index))
            assert failure is None or failure.label in ("fell_unlucky", "budget_unlucky")


class Aisles:
    """A shop as its pages and its reward tell it, tried out click by click."""

    def __init__(self, env, task):
        self.shop, self.task, self.goal = env.shop, task, task.goal
        self.products = env.shop.catalogue.products

    def further(self, page):
        """Return the pages behind one; options that nobody asked for are left out."""
        if page.kind == "search":
            return [run_search(page, self.products[self.goal.product].title, self.shop.search)]
        offered = labels(self.shop.catalogue, page)
        if page.kind == "item":
            options = option_labels(self.products[page.product]).items()
            offered = set(offered) - {
                name for name, pair in options if pair not in self.goal.options
            }
        return [click(self.shop.catalogue, page, label) for label in offered]

    def is_won(self, page):
        product, target = self.products[page.product], self.products[self.goal.product]
        price = price_of(product, self.task)
        return reward_of(product, dict(page.chosen), price, self.goal, target).total == 1

    def turns_to_win(self, page):
        seen, ring = {page}, [page]
        for turns in itertools.count(1):
            ring = list({after for page in ring for after in self.further(page)} - seen)
            if any(page.kind == "done" and self.is_won(page) for page in ring):
                return turns
            ring = [page for page in ring if page.kind != "done"]
            seen.update(ring)


@settings(max_examples=12)
@given(st.sampled_from(["WebShop", "WebShopText"]), st.integers(0, 255), st.integers(0, 99))
def test_the_way_to_a_purchase_is_as_long_as_trying_every_click_finds_it(name, index, seed):
    env, stream = make_env(f"ragen/{name}-v0", "test", "plain"), RandomStream("shopper", seed)
    env.reset(seed=index)
    answers = []
    while env.legal_actions:
        buying = "click[buy now]" in env.legal_actions
        answers.append("click[features]" if buying and seed % 2 else random_answer(env, stream))
        env.step(answers[-1])
    episode = played(name, index, answers)
    aisles = Aisles(env, episode.instance)
    pages = [step.after.page for step in episode.steps if step.after.page.kind != "done"]
    for page in pages:
        assert _turns_to_win(episode, page) == aisles.turns_to_win(page)
