"""Numbers for the members of a group."""

from concurrent.futures import ThreadPoolExecutor

from ragen_envs.integrations.bridging import NoiseSeedCounter


def test_the_episodes_of_each_instance_are_numbered_apart():
    rollouts = NoiseSeedCounter()
    instances = [("A", "train", 0), ("A", "train", 1), ("A", "val", 0), ("B", "train", 0)]
    for number in range(3):
        assert [rollouts.next(*instance) for instance in instances] == [number] * 4


def test_no_two_processes_of_a_run_give_the_same_number(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    alone = NoiseSeedCounter.of_process()
    assert [alone.next("A", "train", 0) for _ in range(4)] == [0, 1, 2, 3]
    monkeypatch.setenv("WORLD_SIZE", "2")
    given = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        rollouts = NoiseSeedCounter.of_process()
        given += [rollouts.next("A", "train", 0) for _ in range(3)]
    assert given == [0, 2, 4, 1, 3, 5]


def test_threads_share_the_numbers():
    rollouts = NoiseSeedCounter()
    with ThreadPoolExecutor(8) as threads:
        given = [*threads.map(lambda _: rollouts.next("A", "train", 0), range(400))]
    assert sorted(given) == [*range(400)]
