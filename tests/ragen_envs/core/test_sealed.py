import copy
import hashlib
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core import sealed, text_game
from ragen_envs.core.instances import SHIPPED_SPLITS
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.sealed import SealedKeyError, event_of, key_hash, new_key, read_key_file
from tests.ragen_envs.support import IDS, SEALABLE, make

KEY, OTHER = "0123456789abcdef" * 4, "fedcba9876543210" * 4


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("RAGEN_SEALED_KEY", KEY)
    monkeypatch.delenv("RAGEN_SEALED_KEY_FILE", raising=False)
    monkeypatch.setattr(sealed, "_files", {})
    monkeypatch.setattr(sealed, "_keys", {})
    monkeypatch.setattr(text_game, "_generated", {})


def all_of(env):
    return [env.get_instance(seed) for seed in range(256)]


@pytest.mark.slow
@pytest.mark.parametrize("id_", SEALABLE)
def test_a_key_decides_256_different_instances_and_their_noise(id_, monkeypatch):
    first = make(id_, split="sealed")
    found = all_of(first)
    assert {instance.part for instance in found} == {"sealed"}
    assert len({instance.digest for instance in found}) == 256
    assert first.get_instance(256 + 7) is found[7]
    info = first.reset(seed=256 + 7)[1]
    assert (info["instance"], info["index"]) == (found[7].digest, 7)
    public = {
        instance.digest for split in SHIPPED_SPLITS for instance in all_of(make(id_, split=split))
    }
    assert not public & {instance.digest for instance in found}

    monkeypatch.setenv("RAGEN_SEALED_KEY", OTHER)
    monkeypatch.setattr(text_game, "HELD_OUT_SIZE", 8)
    second = make(id_, split="sealed")
    assert [second.get_instance(seed) for seed in range(8)] != found[:8]
    monkeypatch.setattr(text_game, "HELD_OUT_SIZE", 256)
    for env in (first, second):
        env.reset(seed=3, options={"noise_seed": 5})
    assert first.make_noise_stream().words(9) != second.make_noise_stream().words(9)
    text_game._generated.clear()
    monkeypatch.setenv("RAGEN_SEALED_KEY", KEY)
    again = make(id_, split="sealed")
    assert all_of(again) == found
    again.reset(seed=3, options={"noise_seed": 5})
    assert again.make_noise_stream().words(9) == first.make_noise_stream().words(9)


@pytest.mark.parametrize("id_", sorted({*IDS} - {*SEALABLE}))
def test_what_is_all_public_cannot_be_sealed(id_, monkeypatch):
    for key in (KEY, ""):
        monkeypatch.setenv("RAGEN_SEALED_KEY", key)
        name = id_.partition("/")[2]
        with pytest.raises(ValueError, match=f"^{name} has no split 'sealed', as all of its"):
            make(id_, split="sealed")


@pytest.mark.parametrize("id_", ["Sokoban-v0", "SokobanLarge-v0", "BanditRev-v0"])
def test_the_oracle_solves_every_sealed_instance(id_):
    env = make(id_, split="sealed", response_format="plain")
    for seed in range(256):
        env.reset(seed=seed)
        while env.legal_actions:
            *_, info = env.step(oracle_answer(env))
        assert info["success"]


def test_no_copy_of_an_environment_carries_the_key():
    env = make("Sokoban-v0", split="sealed")
    env.reset(seed=0)
    shown = f"{env.spec}{env.spec.to_json()}{env!r}{vars(env)}{env.sealed_key_hash}"
    for text in (shown, repr(pickle.dumps(env)), repr(pickle.dumps(copy.deepcopy(env)))):
        assert KEY not in text
        assert KEY[:16] not in text


def test_an_environment_keeps_its_key_when_the_process_gets_another(monkeypatch):
    env = make("FrozenLake-v0", split="sealed")
    first = env.reset(seed=1)
    monkeypatch.setenv("RAGEN_SEALED_KEY", OTHER)
    make("FrozenLake-v0", split="sealed").reset(seed=1)
    assert env.reset(seed=1) == first


UNPICKLE = """
import pickle, sys
env = pickle.loads(bytes.fromhex(sys.stdin.read()))
print(env.reset(seed=4)[1]["instance"])
"""


@pytest.mark.parametrize(
    ("held", "says"),
    [
        (KEY, ""),
        (OTHER, "SealedKeyError: this environment was made with the sealed key of hash"),
        ("", "SealedKeyError: the sealed split needs the host's key"),
    ],
)
def test_a_pickled_environment_asks_for_the_same_key(held, says):
    env = make("Bandit-v0", split="sealed")
    done = subprocess.run(
        [sys.executable, "-c", UNPICKLE],
        input=pickle.dumps(env).hex(),
        env={**os.environ, "RAGEN_SEALED_KEY": held},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert says in done.stderr
    assert done.stdout.strip() == ("" if says else env.reset(seed=4)[1]["instance"])


def test_the_hash_is_sha256_of_a_prefix_and_the_key():
    assert key_hash(KEY) == hashlib.sha256(b"ragen sealed key 1\0" + KEY.encode()).hexdigest()
    assert key_hash(f" {KEY}\n") == key_hash(KEY)
    assert make("Bandit-v0", split="sealed").sealed_key_hash == key_hash(KEY)
    assert make("Bandit-v0", split="test").sealed_key_hash is None


def test_new_keys_differ_and_ignore_the_global_generators():
    import random

    keys = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)
        keys.append(new_key())
    assert keys[0] != keys[1]
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in keys)


@given(st.text(max_size=80).filter(lambda text: len(text.strip()) > 3))
def test_what_is_no_key_is_refused_and_not_repeated(text):
    if re.fullmatch("[0-9a-f]{64}( [ -~]{1,80})?", text.strip()):
        return
    with pytest.raises(SealedKeyError, match="holds no key, which is 64 hex digits") as refused:
        key_hash(text)
    assert str(refused.value) == (
        "the key holds no key, which is 64 hex digits 0-9a-f, and after a space the name of its "
        "event, if it has one"
    )


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=80))
def test_an_event_changes_the_hash_and_is_read_back(event):
    named = new_key(event)
    assert (event_of(named), event_of(named[:64])) == (event, "")
    assert key_hash(named) != key_hash(named[:64])


@pytest.mark.parametrize("event", [" ", "a ", " a", "a\nb", "Größte", "x" * 81])
def test_what_names_no_event_is_refused(event):
    with pytest.raises(SealedKeyError, match="the name of an event is 1 to 80 letters"):
        new_key(event)


def test_the_same_digits_for_another_event_give_other_instances(monkeypatch):
    monkeypatch.setenv("RAGEN_SEALED_KEY", f"{KEY} Spring")
    spring = make("FrozenLake-v0", split="sealed")
    monkeypatch.setenv("RAGEN_SEALED_KEY", f"{KEY} Autumn")
    autumn = make("FrozenLake-v0", split="sealed")
    assert all_of(spring) != all_of(autumn)
    assert spring.sealed_key_hash == key_hash(f"{KEY} Spring")


def test_the_file_is_read_where_the_variable_is_not_set(monkeypatch, tmp_path):
    file = tmp_path / "key.txt"
    file.write_text(OTHER + "\n")
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", str(file))
    assert make("Bandit-v0", split="sealed").sealed_key_hash == key_hash(KEY)
    monkeypatch.setenv("RAGEN_SEALED_KEY", "")
    assert make("Bandit-v0", split="sealed").sealed_key_hash == key_hash(OTHER)
    monkeypatch.delenv("RAGEN_SEALED_KEY")
    assert make("Bandit-v0", split="sealed").sealed_key_hash == key_hash(OTHER)


def test_a_file_that_changes_in_mid_process_mixes_no_keys(monkeypatch, tmp_path):
    for name, key in (("key.txt", KEY), ("other.txt", OTHER)):
        (tmp_path / name).write_text(key)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGEN_SEALED_KEY")
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", "key.txt")
    first = make("Sokoban-v0", split="sealed")
    (tmp_path / "key.txt").write_text(OTHER)
    later = make("Sokoban-v0", split="sealed")
    assert later.sealed_key_hash == first.sealed_key_hash == key_hash(KEY)
    assert all_of(later) == all_of(first)
    (tmp_path / "key.txt").unlink()
    assert make("FrozenLake-v0", split="sealed").sealed_key_hash == key_hash(KEY)
    # It is the file that counts, not its name: another folder, another file, is read.
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", str(tmp_path / "other.txt"))
    assert make("Sokoban-v0", split="sealed").sealed_key_hash == key_hash(OTHER)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/key.txt").write_text(OTHER)
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", "key.txt")
    assert make("Sokoban-v0", split="sealed").sealed_key_hash == key_hash(OTHER)


def test_every_way_to_have_no_key_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("RAGEN_SEALED_KEY", OTHER[:-1])
    with pytest.raises(SealedKeyError, match="the variable RAGEN_SEALED_KEY holds no key") as bad:
        make("Bandit-v0", split="sealed")
    assert OTHER[:8] not in str(bad.value)
    monkeypatch.delenv("RAGEN_SEALED_KEY")
    with pytest.raises(SealedKeyError, match="name its file in RAGEN_SEALED_KEY_FILE"):
        make("Bandit-v0", split="sealed")
    missing = tmp_path / "missing"
    monkeypatch.setenv("RAGEN_SEALED_KEY_FILE", str(missing))
    with pytest.raises(SealedKeyError, match="missing cannot be read: No such file"):
        make("Bandit-v0", split="sealed")
    (tmp_path / "binary").write_bytes(b"\xff" * 64)
    with pytest.raises(SealedKeyError, match="binary holds no key"):
        read_key_file(tmp_path / "binary")
