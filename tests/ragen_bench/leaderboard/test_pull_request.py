"""A branch that adds an entry, checked as the workflow of pull requests does it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from ragen_bench.cli import main
from ragen_bench.leaderboard.files import MAX_BYTES
from tests.ragen_bench.leaderboard.entries import entry_of, evaluation

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("pull-request")]  # its runs are made once

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
    assert said.startswith("Adds the entry mine_quick_test.\nok    files")
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
    assert checked() == (0, "The branch changes no entry, so nothing was verified.\n")


@pytest.mark.parametrize("name", ["mine_quick_test.json", "a/b.json", "note", "a\nb.json"])
@pytest.mark.parametrize("change", ["added", "changed", "removed"])
def test_a_rerun_without_its_entry_is_refused(repository, checked, name, change):
    file = repository / "leaderboard/reproductions" / name
    file.parent.mkdir(parents=True)
    file.write_text('{"reproduced": false}')
    if change != "added":
        commit(repository)
        git(repository, "branch", "-f", "base")
        file.unlink()
    if change == "changed":
        file.write_text('{"reproduced": true}')
    (repository / "README.md").write_text("Better.\n")
    code, said = checked()
    assert (code, said.count("\n")) == (1, 1)
    assert said.startswith("NOT verified: 'leaderboard/reproductions/")
    assert "changes, and only maintainers commit leaderboard/reproductions/" in said


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("draws/new.json", "and only maintainers commit leaderboard/draws/"),
        ("draws/a/b", "and only maintainers commit leaderboard/draws/"),
        ("reference.json", "and only maintainers commit leaderboard/reference.json"),
    ],
)
def test_what_maintainers_alone_commit_is_refused(repository, checked, place, says):
    file = repository / "leaderboard" / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    code, said = checked()
    assert (code, said.count("\n"), says in said) == (1, 1, True)


@pytest.mark.parametrize("folder", ["announcements", "draws", "entries", "reproductions"])
def test_nothing_takes_the_place_of_a_folder(repository, checked, folder):
    """A link that was merged would decide where draws are looked for."""
    place = repository / "leaderboard" / folder
    shutil.rmtree(place, ignore_errors=True)
    place.symlink_to(repository)
    code, said = checked()
    assert code == 1
    assert said.startswith("NOT verified: ")


def announced(repository):
    """Announce the random player on quick; return the file."""
    assert main(["announce", "random", "--suite", "quick"]) == 0
    return repository / "leaderboard/announcements/random_quick_drawn.json"


def test_an_announcement_its_draw_and_its_entry(repository, checked, capsys):
    file = announced(repository)
    capsys.readouterr()
    code, said = checked()
    assert code == 0
    assert said.startswith("Announces random_quick_drawn.json, commitment ")
    draws = repository / "leaderboard/draws"
    draws.mkdir()
    (draws / "x.json").write_text("{}")
    assert "'leaderboard/draws/x.json' changes, and only maintainers commit" in checked()[1]
    shutil.rmtree(draws)
    other = repository / "README.md"
    other.write_text("Mine.\n")
    assert checked() == (
        1,
        "NOT verified: an announcement and 1 other files change; send only one announcement\n",
    )
    other.write_text("A leaderboard.\n")
    assert main(["leaderboard", "draw"]) == 0
    (draw,) = (repository / "leaderboard/draws").iterdir()
    git(repository, "branch", "-f", "base", commit(repository))

    options = ["--suite", "quick", "--split", "drawn", "--draw", str(draw), "--quiet"]
    run, name = repository.parent / "run", "random_quick_drawn"
    assert main(["evaluate", "random", *options, "--out", str(run)]) == 0
    assert main(["submit", str(run), "--name", "random", "--submitter", "me"]) == 0
    capsys.readouterr()
    code, said = checked()
    assert (code, f"Verified: {name}, 64 episodes" in said) == (0, True)
    # A draw of one's own, in the pull request or on one's own machine, is none.
    kept = draw.read_text()
    draw.write_text(kept.replace('"value": "', '"value": "0')[:-1])
    assert "changes too" in checked()[1]
    draw.write_text(kept)

    shutil.rmtree(repository / "leaderboard/entries" / name)
    (repository / "leaderboard/announcements/again.json").write_text(file.read_text())
    code, said = checked()
    assert (code, "the same run was announced before, and leaderboard/draws/" in said) == (1, True)
    (repository / "leaderboard/announcements/again.json").unlink()
    for change in (lambda: file.write_text("{}"), file.unlink):
        change()
        code, said = checked()
        assert (code, "exists already and cannot be changed" in said) == (1, True)


def test_an_announcement_is_looked_at(repository, checked, capsys):
    file = announced(repository)
    text = file.read_text()
    capsys.readouterr()
    for cheat, says in (
        (text.replace('"seed": 0', '"seed": 1'), "the announced run has the seed 1"),
        (text.replace('"samples": 1', '"samples": 1, "time": 0'), "announcement: has the unknown"),
        (text.replace('"instances": 32', '"instances": 31'), "announcement's suite_hash"),
        ("{", "the announcement is not JSON"),
        (" " * (1 << 18) + text, "bytes; the maximum is 262,144"),
    ):
        file.write_text(cheat)
        code, said = checked()
        assert (code, says in said) == (1, True), said
    file.rename(file.with_name("A B.json"))
    assert "the announcement is called 'A B.json'" in checked()[1]


def test_an_object_that_the_repository_lacks_is_one_line(repository, quick, capsys):
    shutil.copytree(quick, PLACE)
    commit(repository)
    blob = git(repository, "rev-parse", f"HEAD:{PLACE}/entry.json")
    (PLACE / "entry.json").unlink()  # else git would make the object anew
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert main(["leaderboard", "check", "base"]) == 1
    said = capsys.readouterr().out
    assert said == ("NOT verified: entry.json is not in the repository; fetch the branch again\n")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("README.md", "'README.md' changes too; send only the directory"),
        ("leaderboard/reference.json", "'leaderboard/reference.json' changes too"),
        ("leaderboard/entries/mine_quick_test/run.sh", "holds 'run.sh'"),
        ("leaderboard/entries/mine_quick_test/a/entry.json", "holds 'a/entry.json'"),
        (
            "leaderboard/entries/other/entry.json",
            "2 entries are changed: 'mine_quick_test', 'other'",
        ),
        ("leaderboard/entries/note", "2 entries are changed"),
        ("ragen_bench/\nx.py", "'ragen_bench/\\nx.py' changes too"),
        (
            "leaderboard/reproductions/mine_quick_test.json",
            "belongs to the previous version of the entry; remove it",
        ),
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
    assert said.count("NOT verified: ") == said.count("\n") == 1


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
    assert checked() == (1, "NOT verified: entry.json is not a plain file: git's mode is 120000\n")


def test_a_large_file_is_not_written(repository, quick, checked, monkeypatch):
    shutil.copytree(quick, PLACE)
    monkeypatch.setitem(MAX_BYTES, "episodes.jsonl.gz", 10)
    code, said = checked()
    assert code == 1
    assert said.endswith("bytes; the maximum is 10\n")
    assert "verified: episodes" in said


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
    code, said = checked()
    assert code == 0
    assert said.startswith("Changes the entry mine_quick_test, which is there already: see that")
    shutil.rmtree(PLACE)
    said = "Withdraws the entry mine_quick_test: see that its submitter wants it.\n"
    assert checked() == (0, said)


def test_unknown_commits_and_no_repository(repository, tmp_path, capsys, monkeypatch):
    assert main(["leaderboard", "check", "nowhere"]) == 2
    assert "git finds no commit 'nowhere' here (fatal: " in capsys.readouterr().err
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    assert main(["leaderboard", "check", "base"]) == 2
    assert "(fatal: not a git repository" in capsys.readouterr().err


@pytest.mark.parametrize("swapped", [False, True])
def test_a_commit_s_name_is_no_option_of_git(repository, tmp_path, swapped, capsys):
    commit(repository)
    names = [f"--output={tmp_path}/made", "base"]
    code = main(["leaderboard", "check", "--", *names[:: -1 if swapped else 1]])
    assert (code, "git finds no commit '--output" in capsys.readouterr().err) == (2, True)
    assert [file.name for file in tmp_path.iterdir()] == ["repository"]


def test_what_merging_takes_back_is_no_secret(repository, quick, checked):
    """Two last commits in common: compared with one of them, the branch adds its entry alone."""
    old = commit(repository)
    git(repository, "checkout", "-q", "base")
    (repository / "README.md").write_text("A hole was mended.\n")
    mended = commit(repository)
    git(repository, "merge", "-q", "--no-ff", "-m", "an honest one", old)
    git(repository, "checkout", "-q", "head")
    git(repository, "merge", "-q", "--no-ff", "-s", "ours", "-m", "up to date", mended)
    shutil.copytree(quick, PLACE)
    last = commit(repository)
    assert git(repository, "diff", "--name-only", old, last).count("\n") == 1
    code, said = checked()
    assert (code, "left its base at 2 commits at once" in said) == (1, True)


def test_an_entry_that_the_base_changed_meanwhile(repository, quick, checked):
    shutil.copytree(quick, PLACE)
    git(repository, "branch", "-f", "base", commit(repository))
    (PLACE / "episodes.jsonl.gz").unlink()
    commit(repository)
    git(repository, "checkout", "-q", "base")
    text = (PLACE / "entry.json").read_text()
    (PLACE / "entry.json").write_text(text.replace('"contact": null', '"contact": "me"'))
    commit(repository)
    git(repository, "checkout", "-q", "head")
    code, said = checked()
    assert (code, "has changed in the base since the branch left it" in said) == (1, True)


def test_a_history_of_its_own(repository, checked):
    git(repository, "checkout", "-q", "--orphan", "other")
    (repository / "README.md").write_text("Another one.\n")
    code, said = checked()
    assert (code, "have no history in common here; if the clone is shallow" in said) == (2, True)


@pytest.mark.parametrize("setting", ["diff.relative=true", "submodule.module.ignore=all"])
def test_no_setting_hides_a_change(repository, quick, capsys, monkeypatch, setting):
    shutil.copytree(quick, PLACE)
    commit(repository)
    git(repository, "config", *setting.split("="))
    (repository / ".gitmodules").write_text(
        '[submodule "module"]\npath = module\nurl = ./\nignore = all\n'
    )
    about = f"160000,{git(repository, 'rev-parse', 'base')},module"
    git(repository, "update-index", "--add", "--cacheinfo", about)
    head = git(repository, "commit-tree", "-p", "HEAD", "-m", "x", git(repository, "write-tree"))
    monkeypatch.chdir(repository / "leaderboard/entries")
    assert main(["leaderboard", "check", "base", head]) == 1
    assert "'module' changes too" in capsys.readouterr().out


def test_a_replaced_object_is_not_looked_at(repository, quick, checked):
    shutil.copytree(quick, PLACE)
    good = (PLACE / "entry.json").read_text()
    (PLACE / "entry.json").write_text(good.replace('"samples": 1', '"samples": 2'))
    commit(repository)
    objects = [git(repository, "rev-parse", f"HEAD:{PLACE}/entry.json")]
    objects.append(git(repository, "hash-object", "-w", quick / "entry.json"))
    git(repository, "replace", *objects)
    assert main(["leaderboard", "check", "base"]) == 1


def tree(repository, *items):
    """Write a tree as no honest git would, and return its id."""
    lines = [f"{mode} {name}\0".encode() + bytes.fromhex(one) for mode, name, one in items]
    command = ["git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
    done = subprocess.run(command, input=b"".join(lines), cwd=repository, capture_output=True)
    return done.stdout.decode().strip()


def test_trees_that_git_does_not_write(repository, quick, capsys):
    shutil.copytree(quick, PLACE)
    top = commit(repository)
    ids = {name: git(repository, "rev-parse", f"{top}:{PLACE / name}") for name in MAX_BYTES}
    files = [("100644", name, one) for name, one in ids.items()]
    entry = "40000", PLACE.name, tree(repository, *files)
    twice = "40000", PLACE.name, tree(repository, files[0], *files)
    # `.` is the folder itself, for those who write the path another way.
    hidden = "40000", PLACE.name, tree(repository, ("100755", "evil.sh", files[0][2]))
    hidden = "40000", ".", tree(repository, hidden)
    for entries, says in (
        ([entry], "Verified: "),
        ([twice], "entry.json is there twice"),
        ([hidden, entry], "2 entries are changed: '.', 'mine_quick_test'"),
        ([hidden], 'is called "."'),
    ):
        board = tree(repository, ("40000", "entries", tree(repository, *entries)))
        readme = "100644", "README.md", git(repository, "rev-parse", f"{top}:README.md")
        root = tree(repository, readme, ("40000", "leaderboard", board))
        head = git(repository, "commit-tree", "-p", "base", "-m", "x", root)
        assert main(["leaderboard", "check", "base", head]) == (says != "Verified: ")
        assert says in capsys.readouterr().out


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
    for script in (origin / ".github/verify_entry.sh", origin / "ragen_bench/cli/leaderboard.py"):
        script.write_text("exit(0)\n")
    git(origin, "update-ref", "refs/pull/7/head", commit(origin))
    here = tmp_path / "here"
    git(tmp_path, "clone", "-q", "-b", "main", str(origin), str(here))
    for module in ("venv", "pip"):  # of whoever has the pull request checked out
        (here / f"{module}.py").write_text("exit('of the pull request')\n")

    done = workflow(here, base, git(origin, "rev-parse", "stranger"))
    assert done.returncode == 1
    assert "'.github/verify_entry.sh', 'ragen_bench/cli/leaderboard.py' changes too" in done.stdout

    git(origin, "checkout", "-q", base, "--", ".github", "ragen_bench")
    git(origin, "update-ref", "refs/pull/7/head", commit(origin))
    done = workflow(here, base, git(origin, "rev-parse", "stranger"))
    assert done.returncode == 0, done.stderr
    assert "Verified: mine_quick_test, 64 episodes" in done.stdout


def test_the_workflow_s_file_is_the_base_s_and_its_token_only_reads():
    text = (ROOT / ".github/workflows/entry.yml").read_text()
    content = yaml.load(text, yaml.BaseLoader)  # YAML's `on` is a truth value else
    assert list(content["on"]) == ["pull_request_target"]
    assert content["permissions"] == {"contents": "read"}
    checkout = content["jobs"]["verify"]["steps"][0]
    assert checkout["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert checkout["with"]["persist-credentials"] == "false"


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
        assert "${{" not in step["run"]  # what is put into a command could end it
        env = os.environ | {name: values[value] for name, value in step["env"].items()}
        env["PIP_COMPILE"] = "0"  # modules that are never imported
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], cwd=here, env=env, capture_output=True, text=True
        )
        if done.returncode:
            break
    return done
