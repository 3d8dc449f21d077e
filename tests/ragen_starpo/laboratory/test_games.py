"""The laboratory's games are those of `ragen_envs`, on random episodes with spoiled answers."""

import random
from functools import cache

import pytest
import torch
from transformers import AutoTokenizer

from ragen_envs.core.budget import Budget
from ragen_envs.games.frozen_lake.rules import Slip
from ragen_envs.games.mastermind.rules import all_codes
from ragen_starpo.laboratory.games import find_game, find_slip
from ragen_starpo.laboratory.games.boards import JOINED, MOVE, BoardGame
from ragen_starpo.laboratory.games.game import CLOSE, END, OPEN, PAD
from ragen_starpo.laboratory.games.lake import LakeGame
from ragen_starpo.laboratory.games.sokoban import SokobanGame
from ragen_starpo.laboratory.run import TEST, TRAIN
from ragen_starpo.studies.definition import FEW_BOARDS, GAMES, Task, list_studies, read_study

BATCH = 40
BOARDS = [
    LakeGame(4, Slip(1, 1), Budget()),
    LakeGame(3, Slip(1, 0), Budget(3, 2, 6)),
    LakeGame(3, Slip(8, 1), Budget(5, 2, 10)),
    SokobanGame(6, Budget()),
    SokobanGame(5, Budget(4, 3, 10)),
]
NAMING = [find_game(Task(name, 0)) for name in ("bandit", "bandit-rev", "multi-pull", "mastermind")]
STEPS = 10_000


@cache
def load_tokenizer():
    return AutoTokenizer.from_pretrained("ragen_bench/models/demo_agent")


@cache
def render(text):
    messages = [{"role": "user", "content": text}]
    template = load_tokenizer().apply_chat_template
    return template(messages, tokenize=False, add_generation_prompt=True)


def read_text(game, answer):
    """The text of an answer, which ends at its first CLOSE or END."""
    parts = []
    for token in answer:
        if token == END:
            break
        parts.append("" if token == PAD else game.tokens[token])
        if token == CLOSE:
            break
    return "".join(parts)


def draw_answer(game, rng):
    """A random answer; one token in twelve is any token."""
    size = game.answer_tokens
    if isinstance(game, BoardGame):
        moves = [JOINED + rng.randrange(4) for _ in range(rng.randint(1, size - 2))]
        answer = [OPEN, moves[0] - JOINED + MOVE, *moves[1:], CLOSE]
    else:
        begin, ways, sets = game.choices
        words = [rng.randrange(begin, begin + ways * sets) for _ in range(size - 2)]
        answer = [OPEN, *words, CLOSE]
    spoiled = [rng.randrange(game.vocabulary) if rng.random() < 0.08 else t for t in answer]
    ends = [n for n, token in enumerate(spoiled) if token in (CLOSE, END)]
    return (spoiled[: ends[0] + 1 if ends else size] + [PAD] * size)[:size]


def read_noise(game, env):
    """The noise that gives an episode the chance of its environment."""
    name = type(game).__name__
    if name == "BanditGame":
        return [0.1 if env._pays else 0.9]
    if name == "MultiPullGame":
        return [word / 2**64 for word in env._words]
    if name == "MastermindGame":
        secrets = env.instance.secrets
        return [(secrets.index(env._secret) + 0.5) / len(secrets)] * game.noise_count
    if name == "LakeGame":
        slip = game._slip
        turns = env._slips(game.budget.max_actions)
        return [(slip.turns.index(turn) + 0.5) / slip.total for turn in turns]
    return [0.0] * game.noise_count


def check_observation(game, env, text, tokens, turn):
    """Check that the tokens are the text of a board, or the facts of another game."""
    shown = [game.tokens[token] for token in tokens]
    if isinstance(game, BoardGame):
        assert "".join(shown) == ("<end>" if turn else "") + render(text)
        return
    frame = (["<end>"] if turn else []) + ["<user>"]
    assert shown[: len(frame)] == frame
    assert shown[-1] == "<assistant>"
    facts = shown[len(frame) : -1]
    name = type(game).__name__
    if name == "BanditGame":
        assert f"Actions: {', '.join(facts)}." in text
    elif name == "MultiPullGame":
        colours = env.legal_actions
        pairs = zip(colours, facts[::2], facts[1::2], strict=True)
        assert ", ".join(f"{c} {wins} of {pulls}" for c, wins, pulls in pairs) in text
    else:
        rows = [[fact.split(" at ") for fact in facts[n : n + 3]] for n in range(0, len(facts), 3)]
        assert all([place[0] for _, place in row] == [*"012"] for row in rows)
        lines = [
            " ".join(letter for letter, _ in row) + ": " + row[0][1].partition(", ")[2]
            for row in rows
        ]
        table = [line for line in text.split("\n") if line.endswith("elsewhere")]
        assert (table[4:][-1:] if turn else table) == lines


@pytest.mark.parametrize("game", [*BOARDS, *NAMING], ids=lambda game: game.name)
def test_a_game_is_that_of_the_suite(game):
    rng = random.Random(0)
    done = ends = wins = 0
    env_type, variant = type(game.env), game.env.variant
    envs = [env_type(variant, split="train", response_format="answer") for _ in range(BATCH)]
    index = 0
    while done < STEPS:
        texts = []
        for env in envs:
            texts.append(env.reset(seed=index, options={"noise_seed": index})[0])
            index += 1
        noise = [read_noise(game, env) for env in envs]
        boards = game.encode([env.instance for env in envs])
        state = game.start(boards[None], torch.tensor([noise], dtype=torch.float64))
        over = [False] * BATCH
        while not all(over):
            ids, present = game.observe(state)
            answers = [draw_answer(game, rng) for _ in envs]
            turn = state.turn
            rewards = game.step(state, torch.tensor([answers]))[0]
            for n, env in enumerate(envs):
                if over[n]:
                    assert rewards[n] == 0
                    continue
                check_observation(game, env, texts[n], ids[0, n][present[0, n]].tolist(), turn)
                texts[n], reward, terminated, truncated, info = env.step(
                    read_text(game, answers[n])
                )
                over[n] = terminated or truncated
                assert float(rewards[n]) == pytest.approx(reward, rel=1e-6, abs=1e-6)
                assert bool(state.over[0, n]) == over[n]
                assert bool(state.success[0, n]) == info["success"]
                assert int(state.actions_left[0, n]) == info["actions_left"]
                done, ends, wins = done + 1, ends + over[n], wins + info["success"]
    assert ends > 100
    assert wins > 5 or isinstance(game, SokobanGame)


@pytest.mark.parametrize("game", BOARDS, ids=lambda game: game.name)
def test_distances_are_those_of_the_suite(game):
    boards = game.load(50)
    state = game.start(boards[None], torch.zeros(1, 50, game.noise_count))
    moves = game.find_plan(boards).gather(1, game.position(state)[0][:, None])[:, 0]
    expected = []
    for number in range(50):
        instance = game.env.get_instance(number)
        expected.append(game.env.compute_oracle_info(instance)["optimal_length"])
    assert moves.tolist() == expected


@pytest.mark.parametrize("chance", [0.0, 0.001, 0.1, 0.2, 1 / 3, 0.333, 2 / 3, 0.05, 0.999])
def test_a_slip_has_its_chance(chance):
    slip = find_slip(chance)
    assert sum(turn != 0 for turn in slip.turns) / slip.total == pytest.approx(chance, abs=1e-9)


@pytest.mark.parametrize(
    "task", [Task(name, sizes[0]) for name, sizes in GAMES.items()], ids=lambda task: task.game
)
def test_a_player_of_more_skill_wins_more(task):
    game = find_game(task)
    boards = game.load(200)
    plan = game.find_plan(boards)
    found = []
    for skill in (0.0, 0.5, 1.0):
        chances = [torch.Generator().manual_seed(1)]
        state = game.start(boards[None], torch.rand(1, 200, game.noise_count, generator=chances[0]))
        while state.turn < game.budget.max_turns:
            answer, _ = game.choose(state, plan[None], skill, chances)
            game.step(state, answer)
        found.append(float(state.success.float().mean()))
    assert found[0] + 0.1 < found[1] < found[2] - 0.1 or found[2] > 0.9


def test_the_player_of_mastermind_guesses_codes_that_agree():
    game = find_game(Task("mastermind", 0))
    boards = game.load(20)
    state = game.start(boards[None], torch.rand(1, 20, 3, generator=torch.Generator()))
    answer, _ = game.choose(state, boards[None], 1.0, [torch.Generator().manual_seed(0)])
    names = all_codes(3).names
    for number, guess in enumerate(answer[0, :, 1:-1].tolist()):
        name = " ".join(game.tokens[token] for token in guess)
        assert names.index(name) in game.env.get_instance(number).secrets


def test_every_arm_of_the_catalogue_has_a_game():
    for study in map(read_study, list_studies()):
        for arm in study.arms:
            task = study.task_of(arm)
            assert find_game(task).budget == find_game(task, test=True).budget


def test_the_actions_of_an_answer_leave_the_levels_of_sokoban_as_they_are():
    few, many = (find_game(Task("sokoban", 6, actions_per_turn=most)) for most in (1, 7))
    assert few.budget.max_actions_per_turn == 1
    assert few.load(20).equal(many.load(20))


@pytest.mark.parametrize(("game", "size"), [(game, size) for game in GAMES for size in GAMES[game]])
def test_held_out_boards_are_many_and_not_trained_on(game, size):
    found = find_game(Task(game, size))
    trained, held_out = (
        set(map(tuple, boards.flatten(1).tolist()))
        for boards in (found.load(TRAIN), found.load_held_out(TEST))
    )
    assert not trained & held_out
    count = FEW_BOARDS.get((game, size))
    assert len(held_out) >= 300 if count is None else len(held_out) == count
