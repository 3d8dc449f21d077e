"""Definitions of studies: the catalogue, hashes of arms, and one line for each mistake."""

import re
from dataclasses import replace

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.laboratory.settings import read_arm
from ragen_starpo.studies.definition import OWN, list_studies, read_study

GOOD = """
question = "Which?"
iterations = 40
reference = "base"
settings = ["advantage.estimator=grpo"]
[task]
game = "lake"
size = 3
[arms]
base = {}
up = {settings = ["loss.clip_high=0.3"], task = {slip = 0.2}}
[[claims]]
text = "Up is better."
paper = "A, arXiv 1"
metric = "mean"
plus = ["up"]
minus = ["base"]
"""


def read(folder, text):
    file = folder / "mine.toml"
    file.write_text(text)
    return read_study(str(file))


def test_the_catalogue_is_valid_and_has_at_least_eighty_claims():
    studies = [read_study(name) for name in list_studies()]
    claims = [claim for study in studies for claim in study.claims]
    assert len(claims) >= 80
    for claim in claims:
        assert re.search(r"arXiv \d{4}\.\d{5}$", claim.paper) or claim.paper == OWN
    used = {(s.name, arm) for s in studies for c in s.claims for arm in (*c.plus, *c.minus)}
    of_reference = {(study.name, study.reference) for study in studies}
    assert {(s.name, arm) for s in studies for arm in s.arms} == used | of_reference


def test_the_laboratory_reads_all_settings_of_the_catalogue():
    for study in map(read_study, list_studies()):
        for arm in study.arms:
            read_arm(study.settings_of(arm), study.task_of(arm))


@pytest.mark.parametrize(
    "setting",
    [
        "filter.score=length",
        "loss.mask_truncated=true",
        "optimiser.decay_steps=100000",
        "critic.decay_steps=100000",
        "monitor.action=stop",
    ],
)
def test_a_setting_that_does_nothing_in_the_laboratory_is_refused(setting):
    with pytest.raises(UserError, match=re.escape(f"{setting.partition('=')[0]}=")):
        read_arm([setting, "advantage.estimator=gae"])


def test_a_study_like_another_replaces_settings_of_the_same_name_and_whole_tables(tmp_path):
    text = 'like = "losses"\nsettings = ["updates=2", "loss.kl=0.1"]\n[task]\ngame = "multi-pull"\n'
    base, study = read_study("losses"), read(tmp_path, text)
    assert study.task.title == "BanditMultiPull"
    assert base.task.title == "FrozenLake 3x3"
    assert (study.name, study.iterations, study.claims) == ("mine", 120, base.claims)
    changed = {"updates=2", "loss.kl=0.1"}
    assert set(study.settings) - set(base.settings) == changed
    assert set(base.settings) - set(study.settings) == {"updates=4", "loss.kl=0"}
    assert len(study.settings) == len(base.settings)
    arms = 'arms = {token-clip = {}, other = {settings = ["loss.kl=1"]}}\n'
    with pytest.raises(UserError, match="claim 1: unknown arm 'gspo'"):
        read(tmp_path, arms + text)
    with pytest.raises(UserError, match=r"mine\.toml: like: unknown study 'loses'.*losses"):
        read(tmp_path, text.replace("losses", "loses"))


def test_a_study_like_another_may_change_single_claims(tmp_path):
    base = read_study("estimators")
    number = [claim.text for claim in base.claims].index("PPO ends lower than GRPO.")
    text = 'like = "estimators"\n[changes."PPO ends lower than GRPO."]\nsays = "higher"\n'
    claims = read(tmp_path, text).claims
    assert claims[number] == replace(base.claims[number], says="higher")
    assert [*claims[:number], *claims[number + 1 :]] == [
        *base.claims[:number],
        *base.claims[number + 1 :],
    ]
    with pytest.raises(UserError, match="changes: unknown claim 'PPO ends"):
        read(tmp_path, text.replace("PPO ends lower", "PPO ends later"))
    with pytest.raises(UserError, match=r"changes is for the claims of estimators; remove it"):
        read(tmp_path, "claims = []\n" + text)
    with pytest.raises(UserError, match="changes is for the claims of a study that this one is"):
        read(tmp_path, text.partition("\n")[2])
    with pytest.raises(UserError, match=r"claims\.1\.say: there is no .*did you mean claims\.says"):
        read(tmp_path, text.replace("says", "say"))
    with pytest.raises(UserError, match="changes must have a table for each claim, by its text"):
        read(tmp_path, 'like = "estimators"\nchanges = ["says"]\n')


def test_equal_arms_of_two_studies_have_one_hash(tmp_path):
    study = read(tmp_path, GOOD)
    other = read(tmp_path, GOOD.replace("base", "other"))
    longer = read(tmp_path, GOOD.replace("iterations = 40", "iterations = 41"))
    assert study.hash_of("base") == other.hash_of("other")
    hashes = {study.hash_of("base"), study.hash_of("up"), longer.hash_of("base")}
    assert len(hashes) == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('plus = ["up"]', 'plus = ["ups"]', "claim 1: .*ups.*up"),
        ('reference = "base"', 'reference = "bases"', "reference: .*bases"),
        ('metric = "mean"', 'metric = "means"', "claim 1: .*means.*mean"),
        ("estimator=grpo", "estimator=grpa", "arms.base: .*grpa.*grpo"),
        ('"lake"', '"lakes"', "task.*lakes.*lake"),
        ("size = 3", "size = 5", "size of lake is 3 or 4, got 5"),
        ("size = 3", "size = 3\nskill = 0.95", "task.skill: .*at most 0.8.*15 points"),
        ("size = 3", 'size = 3\ntest = "9x9"', "task: test of lake is one of 3x3, 4x4, got '9x9'"),
        ("iterations = 40", "iterations = 0", "iterations: is at least 20"),
        ("iterations = 40", "iterations = 19", "iterations: is at least 20"),
        ("slip = 0.2", "slips = 0.2", "arms.up.task: .*slips"),
        ("slip = 0.2", "slip = 1.5", "arms.up.task.slip|arms.up.task: slip"),
        ("clip_high=0.3", "clip_hihg=0.3", "arms.up: .*clip_hihg.*clip_high"),
        ('minus = ["base"]', 'minus = ["up"]', "up is on both sides"),
        ('minus = ["base"]', 'minus = ["base"]\nthan = 3.0', "than is for claims without minus"),
        ('"mean"', '"entropy_lead"', "set about_collapse = true"),
        ('"mean"', '"mean"\nsame = 0.0', "claims.*same"),
        ('"mean"', '"mean"\nknob = {arm = "up", curve = "kep", most = 1}', "kep.*kept"),
        ('"mean"', '"mean"\nknob = {arm = "up", curve = "kept", least = 2}', "cannot be met"),
        ('"mean"', '"mean"\nknob = {arm = "up", curve = "kept"}', "needs least or most"),
        (
            '"mean"',
            '"mean"\nknob = {arm = "up", curve = "kept", least = 0.9, most = 0.1}',
            "least is 0.9, above most, 0.1",
        ),
        ("estimator=grpo", "settings.normalize_st=true", r"arms\.base: .*normalize_st.*grpo"),
        (
            'loss.clip_high=0.3"], task = {slip = 0.2',
            'filter.strategy=top-k"], task = {samples = 1',
            "arms.up: .*compares the returns of a group, which needs two rollouts",
        ),
        ("slip = 0.2", 'game = "bandit", size = 0, actions_per_turn = 2', "the lake and Sokoban"),
        ("loss.clip_high=0.3", "monitor.fall=0.2", "changes nothing without monitor.action=adapt"),
        ("[task]", "looks = [8, 8]\n[task]", "looks must rise"),
        ("[task]", "warm_starts = 2\n[task]", "warm_starts: is at least 4"),
    ],
)
def test_a_mistake_has_one_line(tmp_path, old, new, message):
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path, GOOD.replace(old, new))
    assert "\n" not in str(error.value)
    assert "mine.toml: " in str(error.value)


def test_unknown_studies_are_named():
    with pytest.raises(UserError, match=r"filtre.*filter"):
        read_study("filtre")
    with pytest.raises(UserError, match=r"there is no study no\.toml"):
        read_study("no.toml")


def test_an_arm_too_short_for_a_collapse_is_refused(tmp_path):
    text = GOOD.replace('"mean"', '"collapsed"\nabout_collapse = true')
    assert read(tmp_path, text).claims[0].about_collapse
    with pytest.raises(UserError, match="set iterations to at least 40"):
        read(tmp_path, text.replace("base = {}", "base = {iterations = 20}"))


def test_a_study_has_claims_and_not_the_name_of_the_page(tmp_path):
    with pytest.raises(UserError, match="claims: name at least one"):
        read(tmp_path, "claims = []" + GOOD.partition("[[claims]]")[0])
    (tmp_path / "findings.toml").write_text(GOOD)
    with pytest.raises(UserError, match="findings is that of the page; give the file another"):
        read_study(str(tmp_path / "findings.toml"))


def test_a_game_with_few_held_out_boards_is_not_tested_on_them(tmp_path):
    text = GOOD.replace('"lake"\nsize = 3', '"sokoban"\nsize = 5').replace(
        ", task = {slip = 0.2}", ""
    )
    assert read(tmp_path, text).task.title == "Sokoban 5x5"
    said = "claim 1: sokoban 5x5 has 8 held-out boards, too few for gain; use last, or a larger"
    with pytest.raises(UserError, match=said):
        read(tmp_path, text.replace('"mean"', '"gain"'))
    text = text.replace("size = 5", 'size = 6\ntest = "5x5"')
    with pytest.raises(UserError, match="has 8 held-out boards, too few for test"):
        read(tmp_path, text.replace('"mean"', '"test"'))
    read(tmp_path, text.replace('"mean"', '"test"').replace('test = "5x5"', ""))
