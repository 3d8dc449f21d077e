import gymnasium
import pytest

from ragen_bench.audit import suite_subject, third_party_subject
from ragen_bench.errors import UserError
from ragen_envs import IDS
from ragen_envs.testing import Subject
from tests.ragen_envs.support import held_out_size

MODULE = """
import gymnasium
from ragen_envs.testing import Subject

class Env(gymnasium.Env):
    pass

subject = Subject(make_env=Env, max_turns=3)
env = Env()
number = 3
gymnasium.register("mine/Env-v0", Env)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "audited_module.py").write_text(MODULE)
    (tmp_path / "audited_broken.py").write_text("import sys; sys.exit(3)")


@pytest.mark.parametrize("id_", IDS)
def test_the_kit_is_told_everything_of_the_suites_environments(id_):
    subject = suite_subject(id_)
    env = gymnasium.make(id_).unwrapped
    assert subject.stochastic == env.stochastic
    assert subject.max_turns == env.budget.max_turns
    assert list(subject.splits) == ["train", "val", "test"]
    assert [make().unwrapped.split for make in subject.splits.values()] == ["train", "val", "test"]
    assert subject.held_out == dict.fromkeys(("val", "test"), held_out_size(id_))


@pytest.mark.usefixtures("module")
def test_names_of_third_parties():
    assert third_party_subject("python:audited_module:subject").max_turns == 3
    made = third_party_subject("python:audited_module:Env")
    assert isinstance(made, Subject)
    assert made.make_env.__name__ == "Env"
    assert (
        third_party_subject("audited_module:mine/Env-v0").make_env == "audited_module:mine/Env-v0"
    )
    assert third_party_subject("CartPole-v1").make_env == "CartPole-v1"


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("python:audited_module", "is not of the form python:MODULE:ATTRIBUTE"),
        ("python::x", "is not of the form python:MODULE:ATTRIBUTE"),
        ("python:audited_module:nope", "cannot be imported: AttributeError"),
        ("python:audited_nowhere:x", "cannot be imported: ModuleNotFoundError"),
        ("python:audited_broken:x", "cannot be imported: SystemExit: 3"),
        ("python:audited_module:number", "is neither a Subject nor callable"),
        ("python:audited_module:env", "is neither a Subject nor callable"),
        ("audited_nowhere:a/B-v0", "audited_nowhere cannot be imported: ModuleNotFoundError"),
        ("audited_broken:a/B-v0", "audited_broken cannot be imported: SystemExit: 3"),
        ("audited_module:mine/Other-v0", "cannot be found: NameNotFound"),
        ("mine/Nothing-v0", "cannot be found: N"),
    ],
)
def test_names_that_lead_nowhere(name, says):
    with pytest.raises(UserError, match=says) as refused:
        third_party_subject(name)
    assert "\n" not in str(refused.value)
