"""Studies and stores of strangers: whatever is in them, one line, no code and little memory."""

import io
import json
import random
import shutil
import zipfile

import numpy as np
import pytest

from ragen_bench.errors import UserError
from ragen_starpo.studies.definition import CATALOGUE, read_study
from ragen_starpo.studies.pages import write_pages
from ragen_starpo.studies.store import load_finding, open_store, run_study
from tests.cases import examples
from tests.ragen_starpo.studies.stand_in import StandIn, claim, make_study

HOSTILE = "\x1b[2J<script>alert(1)</script> | [x](javascript:1) {: onclick=a }\u202e"


def judged(study, folder):
    with open_store(folder, [study]):
        judgement = run_study(study, folder, StandIn(), "cpu", lambda _: None)
    return load_finding(folder, study, judgement)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    judged(make_study(claim("up")), folder)
    return folder


def test_texts_of_a_study_are_shown_as_they_are(tmp_path):
    texts = {"text": HOSTILE, "paper": HOSTILE, "figure": HOSTILE, "number": HOSTILE}
    study = make_study(claim("up", **texts))
    write_pages(tmp_path / "pages", [judged(study, tmp_path / "store")])
    page = (tmp_path / "pages/findings.md").read_text()
    pictures = "".join(file.read_text() for file in (tmp_path / "pages/findings").glob("*.svg"))
    for content in (page, pictures):
        assert not set("\x1b\u202e") & set(content)
        assert "<script" not in content
    assert "](javascript" not in page
    assert "{:" not in page


@pytest.mark.parametrize("name", ["../out", "a/b", "", ".hidden", "a b", "x" * 101, "a\nb"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name):
    text = (
        (CATALOGUE / "filters.toml").read_text()
        if (CATALOGUE / "filters.toml").exists()
        else (sorted(CATALOGUE.glob("*.toml"))[0].read_text())
    )
    file = tmp_path / "mine.toml"
    file.write_text(f"name = {json.dumps(name)}\n{text}")
    with pytest.raises(UserError, match=r"name: .* is not a name of letters"):
        read_study(str(file))


def zipped(arrays):
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def spoil(data, dice):
    """Return a file of runs that is damaged or of another form."""
    with np.load(io.BytesIO(data)) as content:
        arrays = dict(content)
    name = dice.choice(sorted(arrays))
    kind = dice.randrange(7)
    if kind == 0:
        place = dice.randrange(len(data))
        return data[:place] + bytes([data[place] ^ (1 << dice.randrange(8))]) + data[place + 1 :]
    if kind == 1:
        return data[: dice.randrange(len(data))]
    if kind == 2:
        arrays.pop(name)
    elif kind == 3:
        arrays[name] = np.array(dice.choice(["text", b"bytes", 1 + 2j, True]))
    elif kind == 4:
        arrays[name] = arrays[name].ravel()[: dice.randrange(5)]
    elif kind == 5:
        arrays[name] = np.zeros((0,) * dice.randrange(4))
    else:
        arrays[name] = np.array([{"an": "object"}], dtype=object)
    return zipped(arrays)


@pytest.mark.parametrize("seed", range(examples(60)))
def test_a_spoiled_file_is_one_line_or_the_same_runs(store, tmp_path, seed):
    dice = random.Random(seed)
    folder = shutil.copytree(store, tmp_path / "store")
    file = dice.choice(sorted((folder / "arms").glob("*/*.npz")))
    file.write_bytes(spoil(file.read_bytes(), dice))
    try:
        finding = judged(make_study(claim("up")), folder)
    except UserError as error:
        line = str(error)
        assert file.name in line
        assert "\n" not in line
    else:
        write_pages(tmp_path / "pages", [finding])


def test_a_file_that_unpacks_to_gigabytes_is_refused(store, tmp_path):
    folder = shutil.copytree(store, tmp_path / "store")
    file = sorted((folder / "arms").glob("*/*.npz"))[0]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("curve-success.npy", b"\0" * (1 << 28))
    with pytest.raises(UserError, match="unpacks to 268,435,456 bytes, of 134,217,728 at most"):
        judged(make_study(claim("up")), folder)


@pytest.mark.parametrize("seed", range(examples(40)))
def test_a_spoiled_study_is_one_line(tmp_path, seed):
    """A study's TOML with lines cut, doubled, exchanged or with other values."""
    dice = random.Random(seed)
    source = dice.choice(sorted(CATALOGUE.glob("*.toml")))
    lines = source.read_text().splitlines()
    for _ in range(dice.randrange(1, 4)):
        place = dice.randrange(len(lines))
        key = lines[place].partition("=")[0]
        lines[place] = dice.choice([
            "", lines[dice.randrange(len(lines))], f"{key}= {'[' * 500}", f"{key}= {'9' * 5000}",
            f"{key}= -1e400", f'{key}= "\\u001b"', f"{key}= nan", "a" + ".a" * 500 + " = 1",
            f"{key}= []", f"{key}= {{}}", f"{key}= true", "\0",
        ])  # fmt: skip
    file = tmp_path / "mine.toml"
    file.write_text("\n".join(lines))
    try:
        read_study(str(file))
    except UserError as error:
        line = str(error)
        assert "\n" not in line
        assert len(line) < 2000
