"""What new processes are given, and what they may run into."""

import importlib.util
import os
import sys
import tempfile
import threading
import types
from pathlib import Path

import cloudpickle
import gymnasium
import pytest

from ragen_envs.testing import CheckFailed, CheckSkipped, check_same_seed_in_other_processes
from ragen_envs.testing.processes import unimportable
from tests.ragen_envs.testing.lamps import LampEnv, subject_of

QUICK = {"seeds": (0, 1)}


def test_a_function_made_here_is_sent_along():
    check_same_seed_in_other_processes(subject_of(lambda: LampEnv("train"), **QUICK))


def test_an_id_that_only_this_process_knows_is_sent_along():
    gymnasium.register("testing/Lamps-v0", lambda split="train": LampEnv(split))
    try:
        check_same_seed_in_other_processes(subject_of(make_env="testing/Lamps-v0", **QUICK))
    finally:
        del gymnasium.registry["testing/Lamps-v0"]


def test_what_cannot_be_sent_is_a_skip():
    lock = threading.Lock()
    with pytest.raises(CheckSkipped, match=r"cannot be sent .*cannot pickle '_thread.lock'"):
        check_same_seed_in_other_processes(subject_of(lambda: lock and LampEnv(), **QUICK))


def test_what_fails_there_is_told_in_one_line():
    here = os.getpid()

    def only_here():
        if os.getpid() != here:
            raise OSError("the port is taken")
        return LampEnv()

    with pytest.raises(CheckFailed, match=r"could not play the episodes: .*the port is taken"):
        check_same_seed_in_other_processes(subject_of(only_here, **QUICK))


def test_the_number_of_the_process_is_found():
    class Counts(LampEnv):
        def text(self, told):
            return f"{told} {os.getpid()}"

    with pytest.raises(CheckFailed, match=r"seed 0, turn 0: observation .* against .*new one with"):
        check_same_seed_in_other_processes(subject_of(Counts, **QUICK))


def test_processes_have_hash_seeds_of_their_own(monkeypatch):
    class Shows(LampEnv):
        def text(self, told):
            return os.environ["PYTHONHASHSEED"]

    monkeypatch.setenv("PYTHONHASHSEED", "0")
    with pytest.raises(CheckFailed, match="turn 0: observation '0' against '1'"):
        check_same_seed_in_other_processes(subject_of(Shows, **QUICK))


BY_PATH = """
from tests.ragen_envs.testing.lamps import LampEnv

def feedback():
    return "lamps by path."

class Lamps(LampEnv):
    def text(self, told):
        return super().text(feedback() if self.turn == 0 else told)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lost", "lost.lamps", "ragen_envs.lost", "tabnanny"])
def test_what_was_imported_by_its_path_is_sent_along(name, tmp_path, monkeypatch):
    """As pytest imports test files with --import-mode=importlib; tabnanny is another module."""
    leftovers = unimportable()  # of tests of other modules, in this process
    file = tmp_path / "lost.py"
    file.write_text(BY_PATH)
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    assert [found for found in unimportable() if found not in leftovers] == [module]
    check_same_seed_in_other_processes(subject_of(module.Lamps, **QUICK))
    check_same_seed_in_other_processes(subject_of(lambda: module.Lamps(), **QUICK))
    assert cloudpickle.list_registry_pickle_by_value() == set()
    cloudpickle.register_pickle_by_value(module)
    check_same_seed_in_other_processes(subject_of(module.Lamps, **QUICK))
    assert cloudpickle.list_registry_pickle_by_value() == {name}
    cloudpickle.unregister_pickle_by_value(module)


def test_all_else_is_imported_by_its_name():
    installed = [
        module.__name__
        for module in unimportable()
        if not Path(str(module.__file__)).is_relative_to(tempfile.gettempdir())
    ]
    assert installed == []


def test_a_module_that_is_no_file_is_named(monkeypatch):
    module = types.ModuleType("made_up")
    exec("class Made(LampEnv): pass", vars(module) | {"LampEnv": LampEnv}, vars(module))
    module.Made.__module__ = "made_up"
    monkeypatch.setitem(sys.modules, "made_up", module)
    with pytest.raises(CheckFailed, match="No module named 'made_up'"):
        check_same_seed_in_other_processes(subject_of(module.Made, **QUICK))
