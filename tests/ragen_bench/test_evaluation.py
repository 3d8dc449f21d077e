"""What an evaluation tells while it runs."""

from ragen_bench.evaluation import evaluate


def test_progress_counts_recorded_episodes_and_every_answer(small, random_model, tmp_path):
    told = []
    run = evaluate(small, random_model, tmp_path / "run", lambda *now: told.append(now))
    run.unlock()
    answers = sum(len(episode["turns"]) for episode in run.episodes())
    assert told[0] == (0, 0, "")
    assert told[-1] == (160, answers, "ragen/FrozenLake-v0")
    assert [episodes for episodes, _, _ in told] == sorted(episodes for episodes, _, _ in told)
    # Groups of 64 are recorded as they end, and each turn of a group is told before.
    assert {episodes for episodes, _, _ in told} == {0, 64, 128, 160}
    assert any(episodes == 0 and count >= 64 for episodes, count, _ in told)
