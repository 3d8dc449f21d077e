"""Trajectories of a real model: token in, token out, probabilities that can be computed again."""

import copy
from functools import partial

import pytest
import torch

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.errors import UserError
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import LoadedModel, enable_rows
from ragen_bench.suites import make_env
from ragen_starpo.local.actor import play
from ragen_starpo.rollout.environment_loop import TokenEpisode
from ragen_starpo.rollout.selection import FailedEpisode
from ragen_starpo.rollout.trajectory import batch_of
from tests.ragen_starpo.sequences import whole

pytestmark = pytest.mark.slow

ENVS = ["ragen/Bandit-v0", "ragen/FrozenLake-v0", "ragen/Sokoban-v0"]


def begins(chat, ending, count=6, context=4096):
    return [partial(begun, chat, ending, number, context) for number in range(count)]


def begun(chat, ending, number, context=4096):
    task = Task(ENVS[number % 3], "train", number, 0)
    env = make_env(task.env, "train", "think")
    episode = Episode(task, 0, env, "think")
    return TokenEpisode(episode, number, chat, ending, context, lambda turn: turn.reward)


class Watched(Decoder):
    """Remembers the answers, in the order in which they were asked for."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.answers = []

    def submit(self, prompt, stream):
        self.answers.append(super().submit(prompt, stream))
        return self.answers[-1]


@pytest.fixture(scope="module", params=["rows", "waves"])
def decoder(request, random_model, chat, chatml):
    """Return a function that makes the decode loop of the random model."""
    model = copy.deepcopy(random_model)
    waves = "for the test"
    if request.param == "rows":
        waves = enable_rows(model, list(range(3, 40)))
        assert not waves
    loaded = LoadedModel(chat.chat, model, frozenset([chatml[1]]), 0, waves)
    sampling = Sampling(0.7, 12, "</answer>", 0)
    return lambda: Watched(loaded, sampling, 6, log_probs=True)


@pytest.fixture(scope="module")
def played(decoder, chat, ending):
    watched = decoder()
    return play(begins(chat, ending), watched, 3), watched.answers


def test_the_ids_are_what_the_engine_saw(played):
    trajectories, answers = played
    seen = [(*answer.prompt, *answer.ids) for answer in answers]
    for one in trajectories:
        length = 0
        for turn in one.turns:
            length += len(turn.observed) + len(turn.sampled.ids)
            assert tuple(whole(one).ids[:length]) in seen
        assert length == len(whole(one).ids)
    assert len(seen) == sum(len(one.turns) for one in trajectories)
    assert {len(one.turns) for one in trajectories} > {1}


def test_the_mask_is_one_on_sampled_tokens_and_nowhere_else(played):
    for one in played[0]:
        wanted = []
        for turn in one.turns:
            wanted += [0] * len(turn.observed) + [1] * len(turn.sampled.ids)
        ids, mask = whole(one).ids, whole(one).mask
        assert mask == wanted
        picked = [token for token, kind in zip(ids, mask, strict=True) if kind]
        assert picked == [token for turn in one.turns for token in turn.sampled.ids]


def test_the_trainer_computes_the_engines_probabilities(played, random_model):
    """One conversation at a time, without a cache and without padding."""
    for one in played[0]:
        with torch.no_grad():
            logits = random_model(torch.tensor([whole(one).ids])).logits[0, :-1].double() / 0.7
        following = torch.tensor(whole(one).ids[1:])
        found = torch.log_softmax(logits, -1).gather(1, following[:, None])[:, 0]
        batch = batch_of([one], 0)
        sampled = batch.mask[0, 1:].bool()
        assert sampled.sum() == sum(len(turn.sampled.ids) for turn in one.turns)
        engines = batch.log_probs[0, 1:][sampled].double()
        assert float((found[sampled] - engines).abs().max()) < 1e-4
        assert float((found[sampled].exp() - engines.exp()).abs().max()) < 5e-5
        assert float(engines.exp().max()) > 0.01  # not all alike, whatever the temperature


def test_others_in_flight_change_nothing(played, decoder, chat, ending):
    alone = begins(chat, ending)[4:5]
    (found,) = play(alone, decoder(), 3)
    assert whole(found).ids == whole(played[0][4]).ids
    other = play(begins(chat, ending)[4:5], decoder(), 4)
    assert whole(other[0]).ids != whole(found).ids


def test_records_are_the_harness_own(played, chat, ending):
    for one in played[0]:
        assert len(one.record.turns) == len(one.turns)
        for turn, recorded in zip(one.turns, one.record.turns, strict=True):
            assert recorded.completion_tokens == len(turn.sampled.ids) <= 12
            assert recorded.finish == ("stop" if turn.sampled.stopped else "length")
            assert turn.reward == recorded.reward
            text = chat.chat.tokenizer.decode(turn.sampled.ids, skip_special_tokens=True)
            assert recorded.answer == text.partition("</answer>")[0]


def test_no_room_ends_an_episode(decoder, chat, ending):
    room = len(begun(chat, ending, 1).ids) + 20
    (found,) = play(begins(chat, ending, 2, room)[1:], decoder(), 3)
    assert found.record.outcome == "context_overflow"
    assert len(found.turns) == 1
    assert len(whole(found).ids) <= room
    (nothing,) = play(begins(chat, ending, 1, 10), decoder(), 3)
    assert (nothing.turns, whole(nothing).ids, nothing.score) == ((), [], 0.0)


def test_batches(played):
    trajectories, _ = played
    batch = batch_of(trajectories, 0)
    for row, one in enumerate(trajectories):
        length = len(whole(one).ids)
        assert batch.ids[row, :length].tolist() == whole(one).ids
        assert batch.attention[row].tolist() == [1] * length + [0] * (batch.ids.shape[1] - length)
        assert batch.mask[row].sum() == batch.mask[row, :length].sum() == sum(whole(one).mask)
        assert batch.turn_rewards[row].sum() == pytest.approx(one.score)
        assert batch.groups[row] == row
        start = 0
        for number, turn in enumerate(one.turns):
            end = start + len(turn.observed) + len(turn.sampled.ids)
            assert set(batch.turns[row, start:end].tolist()) == {number}
            start = end
    assert torch.equal(batch.rows(torch.tensor([2, 0])).ids, batch.ids[[2, 0]])


class Failing:
    """Begins an episode that raises an error the first times that it is begun, or has an answer."""

    def __init__(self, begin, times, error, where):
        self.begin, self.left, self.error, self.where = begin, times, error, where

    def __call__(self):
        if self.where == "begin":
            self.fail()
        episode = self.begin()
        take = episode.take

        def taken(sampled):
            if len(episode.ids) > len(episode.observed):  # not the first answer
                self.fail()
            take(sampled)

        episode.take = taken if self.where == "take" else take
        return episode

    def fail(self):
        if self.left:
            self.left -= 1
            raise self.error


@pytest.mark.parametrize("where", ["begin", "take"])
@pytest.mark.parametrize(("times", "retries"), [(1, 1), (2, 2), (1, 0), (3, 1)])
def test_an_error_is_of_its_episode_alone(
    played, decoder, chat, ending, caplog, where, times, retries
):
    """It is begun anew, or given up; others end as they would."""
    some = begins(chat, ending)
    some[4] = Failing(some[4], times, OSError("gone\nfor good"), where)
    found = play(some, decoder(), 3, retries)
    if times > retries:
        assert found[4] == FailedEpisode("OSError: gone")
    else:
        # Of other company the matrix products round otherwise, so later tokens may differ.
        alike = ("instance", "rollout", "index", "sample")
        for name in alike:
            assert getattr(found[4].record, name) == getattr(played[0][4].record, name)
        assert found[4].turns[0].observed == played[0][4].turns[0].observed
        assert found[4].begun_anew == times
    assert all(one.begun_anew == 0 for one in found if one is not found[4])
    told = [record.getMessage() for record in caplog.records]
    assert told == ["an episode ended in an error and is begun anew: OSError: gone"] * min(
        times, retries
    )
    assert [one.group for one in found if one is not found[4]] == [0, 1, 2, 3, 5]


def test_a_users_mistake_is_not_tried_again(decoder, chat, ending):
    one = Failing(begins(chat, ending)[4], 1, UserError("no such file"), "begin")
    with pytest.raises(UserError, match="no such file"):
        play([one], decoder(), 3, 5)
    assert one.left == 0
