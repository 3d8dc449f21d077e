"""A branch that adds an entry, checked as the workflow of pull requests does it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ragen_bench.cli import main
from ragen_bench.leaderboard.files import MOST_BYTES
from tests.ragen_bench.leaderboard.entries import entry_of, evaluation

ROOT = Path(__file__).parents[3]
PLACE = Path("leaderboard/entries/mine_quick_test")
AUTHOR = {
    f"GIT_{who}_{what}": "x@example.org"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


def git(repository, *arguments):
    done = subprocess.run(
        ["git", "-C", repository, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | AUTHOR,
    )
    return done.stdout.strip()


def commit(repository):
    git(repository, "add", "-A", "-f")
    git(repository, "commit", "-q", "--allow-empty", "-m", "a commit")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """An entry of a suite that the installed package knows too."""
    return entry_of(tmp_path_factory.mktemp("quick"), evaluation("random", "quick"))


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A leaderboard in git, and its first commit as the branch `base`."""
    made = tmp_path / "repository"
    (made / "leaderboard/entries").mkdir(parents=True)
    (made / "README.md").write_text("A leaderboard.\n")
    git(tmp_path, "init", "-q", "-b", "base", str(made))
    commit(made)
    git(made, "checkout", "-q", "-b", "head")
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def checked(repository, capsys):
    def check():
        commit(repository)
        code = main(["leaderboard", "check", "base"])
        out, err = capsys.readouterr()
        assert err == "" or code == 2
        return code, out + err

    return check


def test_an_entry_is_verified(repository, quick, checked):
    shutil.copytree(quick, PLACE)
    code, said = checked()
    assert code == 0
    assert "64 of 64 planned" in said
    assert said.splitlines()[-1].startswith("Verified: mine_quick_test, 64 episodes in ")


def test_the_base_may_have_moved_on(repository, quick, checked):
    git(repository, "checkout", "-q", "base")
    (repository / "later.txt").write_text("on the base alone")
    commit(repository)
    git(repository, "checkout", "-q", "head")
    shutil.copytree(quick, PLACE)
    assert checked()[0] == 0


def test_an_edited_entry_is_refused(repository, quick, checked):
    shutil.copytree(quick, PLACE)
    text = (PLACE / "entry.json").read_text()
    (PLACE / "entry.json").write_text(text.replace('"seed": 0', '"seed": 1'))
    code, said = checked()
    assert code == 1
    assert "FAIL  run        the run has the seed 1" in said


def test_nothing_touched(repository, checked):
    (repository / "README.md").write_text("Better.\n")
    assert checked() == (0, "No entry is touched.\n")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("README.md", "'README.md' changes too; send the directory"),
        ("leaderboard/reference.json", "'leaderboard/reference.json' changes too"),
        ("leaderboard/entries/mine_quick_test/run.sh", "holds 'run.sh'"),
        ("leaderboard/entries/mine_quick_test/a/entry.json", "holds 'a/entry.json'"),
        (
            "leaderboard/entries/other/entry.json",
            "2 entries are touched: 'mine_quick_test', 'other'",
        ),
        ("leaderboard/entries/note", "2 entries are touched"),
        ("ragen_bench/\nx.py", "'ragen_bench/\\nx.py' changes too"),
        ("leaderboard/reproductions/mine_quick_test.json", "is of the entry as it was; remove it"),
    ],
)
def test_anything_else_is_refused(repository, quick, checked, path, reason):
    shutil.copytree(quick, PLACE)
    file = repository / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    code, said = checked()
    assert code == 1
    assert said.startswith("NOT verified: ")
    assert reason in said
    assert said.count("\n") == 1


def test_many_other_changes_are_counted(repository, quick, checked):
    shutil.copytree(quick, PLACE)
    for number in range(25):
        (repository / f"{number:02}.txt").write_text("x")
    said = checked()[1]
    assert "'09.txt' and 15 more changes too" in said
    assert "'10.txt'" not in said


@pytest.mark.parametrize("name", ["Mine", "mine quick", ".mine", "a" * 101])
def test_names(repository, quick, checked, name):
    shutil.copytree(quick, PLACE.with_name(name))
    code, said = checked()
    assert code == 1
    assert "an entry's directory has up to 100 of a-z" in said


def test_a_link_is_refused_and_not_followed(repository, quick, checked):
    shutil.copytree(quick, PLACE)
    secret = repository.parent / "entry.json"
    (PLACE / "entry.json").rename(secret)
    (PLACE / "entry.json").symlink_to(secret)
    assert checked() == (1, "NOT verified: entry.json is no plain file: git's mode is 120000\n")


def test_a_large_file_is_not_written(repository, quick, checked, monkeypatch):
    shutil.copytree(quick, PLACE)
    monkeypatch.setitem(MOST_BYTES, "episodes.jsonl.gz", 10)
    code, said = checked()
    assert code == 1
    assert said.endswith("bytes; at most 10 are read\n")


def test_a_file_in_place_of_a_directory_is_refused(repository, checked):
    PLACE.write_text("not a directory")
    code, said = checked()
    assert (code, "changes too" in said) == (1, True)


def test_a_missing_file_is_refused(repository, quick, checked):
    shutil.copytree(quick, PLACE)
    (PLACE / "episodes.jsonl.gz").unlink()
    code, said = checked()
    assert (code, "episodes.jsonl.gz is missing" in said) == (1, True)


def test_an_entry_is_changed_with_its_rerun_removed_and_withdrawn(repository, quick, checked):
    rerun = repository / "leaderboard/reproductions/mine_quick_test.json"
    rerun.parent.mkdir()
    rerun.write_text("{}")
    shutil.copytree(quick, PLACE)
    commit(repository)
    git(repository, "branch", "-f", "base")
    entry = (PLACE / "entry.json").read_text()
    (PLACE / "entry.json").write_text(entry.replace('"contact": null', '"contact": "me"'))
    assert "remove it" in checked()[1]
    rerun.unlink()
    assert checked()[0] == 0
    shutil.rmtree(PLACE)
    assert checked() == (0, "Withdrawn: mine_quick_test\n")


def test_unknown_commits_and_no_repository(repository, tmp_path, capsys, monkeypatch):
    assert main(["leaderboard", "check", "nowhere"]) == 2
    assert "git diff failed" in capsys.readouterr().err
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    assert main(["leaderboard", "check", "base"]) == 2
    assert capsys.readouterr().err.startswith("ragen-bench: git diff failed in .: ")


def test_the_workflow_with_its_own_steps(tmp_path, quick):
    """The steps of the YAML file, with a repository on the disk in GitHub's place."""
    origin = tmp_path / "origin"
    for name in ("ragen_bench", "ragen_envs", ".github"):
        shutil.copytree(ROOT / name, origin / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, origin)
    git(tmp_path, "init", "-q", "-b", "main", str(origin))
    base = commit(origin)
    git(origin, "checkout", "-q", "-b", "stranger")
    shutil.copytree(quick, origin / PLACE)
    # Not that of a pull request may be run, but that of the base.
    for script in (origin / ".github/verify_entry.sh", origin / "ragen_bench/cli/check.py"):
        script.write_text("exit(0)\n")
    git(origin, "update-ref", "refs/pull/7/head", commit(origin))
    here = tmp_path / "here"
    git(tmp_path, "clone", "-q", "-b", "main", str(origin), str(here))

    done = workflow(here, base, git(origin, "rev-parse", "stranger"))
    assert done.returncode == 1
    assert "'.github/verify_entry.sh', 'ragen_bench/cli/check.py' changes too" in done.stdout

    git(origin, "checkout", "-q", base, "--", ".github", "ragen_bench")
    git(origin, "update-ref", "refs/pull/7/head", commit(origin))
    done = workflow(here, base, git(origin, "rev-parse", "stranger"))
    assert done.returncode == 0, done.stderr
    assert "Verified: mine_quick_test, 64 episodes" in done.stdout


def workflow(here, base, head):
    """Run the steps that are commands, as GitHub would."""
    steps = yaml.safe_load((ROOT / ".github/workflows/entry.yml").read_text())["jobs"]["verify"][
        "steps"
    ]
    values = {
        "${{ github.event.number }}": "7",
        "${{ github.event.pull_request.base.sha }}": base,
        "${{ github.event.pull_request.head.sha }}": head,
    }
    commands = [step for step in steps if "run" in step]
    assert [step["run"].split()[0] for step in commands] == ["git", ".github/verify_entry.sh"]
    for step in commands:
        command = step["run"].replace(*next(iter(values.items())))
        env = os.environ | {name: values[value] for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "-e", "-c", command], cwd=here, env=env, capture_output=True, text=True
        )
        if done.returncode:
            break
    return done
