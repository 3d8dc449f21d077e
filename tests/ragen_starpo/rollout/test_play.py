"""Trajectories of a real model: token in, token out, probabilities that can be computed again."""

import pytest
import torch

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.suites import make_env
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.play import play
from ragen_starpo.rollout.sampler import Sampler
from ragen_starpo.rollout.trajectory import batch_of

ENVS = ["ragen/Bandit-v0", "ragen/FrozenLake-v0", "ragen/Sokoban-v0"]


def begun(chat, ending, count=6, context=4096):
    episodes = []
    for number in range(count):
        task = Task(ENVS[number % 3], "train", number, 0)
        env = make_env(task.env, "train", "think")
        episode = Episode(task, 0, env, "think")
        episodes.append(
            TokenEpisode(episode, number, chat, ending, context, lambda turn: turn["reward"])
        )
    return episodes


class Watched(Sampler):
    """Remembers what the engine was given."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.seen = []
        self.rows = []

    def answers(self, observed, streams):
        if not self.rows:
            self.seen = [[] for _ in observed]
            self.rows = list(range(len(observed)))
        found = super().answers(observed, streams)
        for row, ids, sampled in zip(self.rows, observed, found, strict=True):
            self.seen[row] += [*ids, *sampled.ids]
        return found

    def keep(self, rows):
        super().keep(rows)
        self.rows = [self.rows[row] for row in rows]


@pytest.fixture(scope="module")
def played(random_model, chat, ending):
    sampler = Watched(random_model, ending, 0.7, 0)
    return play(begun(chat, ending), sampler, 3), sampler.seen


def test_the_ids_are_what_the_engine_saw(played):
    trajectories, seen = played
    assert [one.ids for one in trajectories] == seen
    assert {len(one.turns) for one in trajectories} > {1}


def test_the_mask_is_one_on_sampled_tokens_and_nowhere_else(played):
    for one in played[0]:
        wanted = []
        for turn in one.turns:
            wanted += [0] * len(turn.observed) + [1] * len(turn.sampled.ids)
        assert one.mask == wanted
        picked = [token for token, kind in zip(one.ids, one.mask, strict=True) if kind]
        assert picked == [token for turn in one.turns for token in turn.sampled.ids]


def test_the_trainer_computes_the_engines_probabilities(played, random_model):
    """One conversation at a time, without a cache and without padding."""
    for one in played[0]:
        with torch.no_grad():
            logits = random_model(torch.tensor([one.ids])).logits[0, :-1].double() / 0.7
        found = torch.log_softmax(logits, -1).gather(1, torch.tensor(one.ids[1:])[:, None])[:, 0]
        batch = batch_of([one], 0)
        sampled = batch.mask[0, 1:].bool()
        assert sampled.sum() == sum(len(turn.sampled.ids) for turn in one.turns)
        engines = batch.log_probs[0, 1:][sampled].double()
        assert float((found[sampled] - engines).abs().max()) < 1e-4
        assert float((found[sampled].exp() - engines.exp()).abs().max()) < 1e-5
        assert float(engines.exp().max()) > 0.01  # not all alike, whatever the temperature


def test_others_in_flight_change_nothing(played, random_model, chat, ending):
    alone = begun(chat, ending)[4:5]
    (found,) = play(alone, Sampler(random_model, ending, 0.7, 0), 3)
    assert found.ids == played[0][4].ids
    other = play(begun(chat, ending)[4:5], Sampler(random_model, ending, 0.7, 0), 4)
    assert other[0].ids != found.ids


def test_records_are_the_harness_own(played, chat, ending):
    for one in played[0]:
        assert len(one.record["turns"]) == len(one.turns)
        for turn, recorded in zip(one.turns, one.record["turns"], strict=True):
            assert recorded["completion_tokens"] == len(turn.sampled.ids) <= 12
            assert recorded["finish"] == ("stop" if turn.sampled.stopped else "length")
            assert turn.reward == recorded["reward"]
            text = chat.chat.tokenizer.decode(turn.sampled.ids, skip_special_tokens=True)
            assert recorded["answer"] == text.partition("</answer>")[0]


def test_no_room_ends_an_episode(random_model, chat, ending):
    room = len(begun(chat, ending)[1].ids) + 20
    episode = begun(chat, ending, 2, room)[1]
    (found,) = play([episode], Sampler(random_model, ending, 0.7, 0), 3)
    assert found.record["outcome"] == "context_overflow"
    assert len(found.turns) == 1
    assert len(found.ids) <= room
    (nothing,) = play(begun(chat, ending, 1, 10), Sampler(random_model, ending, 0.7, 0), 3)
    assert (nothing.turns, nothing.ids, nothing.score) == ((), [], 0.0)


def test_batches(played):
    trajectories, _ = played
    batch = batch_of(trajectories, 0)
    for row, one in enumerate(trajectories):
        length = len(one.ids)
        assert batch.ids[row, :length].tolist() == one.ids
        assert batch.attention[row].tolist() == [1] * length + [0] * (batch.ids.shape[1] - length)
        assert batch.mask[row].sum() == batch.mask[row, :length].sum() == sum(one.mask)
        assert batch.turn_rewards[row].sum() == pytest.approx(one.score)
        assert batch.groups[row] == row
        start = 0
        for number, turn in enumerate(one.turns):
            end = start + len(turn.observed) + len(turn.sampled.ids)
            assert set(batch.turns[row, start:end].tolist()) == {number}
            start = end
    assert torch.equal(batch.rows(torch.tensor([2, 0])).ids, batch.ids[[2, 0]])
