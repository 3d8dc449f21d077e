"""What a stranger may put in the place of an entry: refused with a reason, and never read whole."""

import gzip
import io
import json
import os
import random
import shutil
import struct
import zlib

import pytest

from ragen_bench.episodes.replay import Replayer
from ragen_bench.errors import UserError
from ragen_bench.leaderboard import verify
from ragen_bench.leaderboard.episodes import EpisodeCheck
from ragen_bench.leaderboard.files import PackedEpisodes
from ragen_bench.leaderboard.strict_json import EntryError
from ragen_bench.runs.checked import read_config
from ragen_bench.runs.json_lines import to_line
from tests.ragen_bench.leaderboard.entries import (
    edit_entry,
    entry_json,
    problems_of,
    records,
    write_lines,
)


def packed(entry):
    return entry / "episodes.jsonl.gz"


def zeros(megabytes):
    """Return a gzip file of so many MB of zeros, made without holding them; its CRC is wrong."""
    squeeze = zlib.compressobj(9, wbits=-15)
    block = squeeze.compress(bytes(1 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"", mtime=0)[:10] + block * megabytes + b"\3\0" + bytes(8)


@pytest.fixture(scope="module")
def bomb():
    return zeros(1000)


def test_a_bomb_that_says_its_size_is_refused_unread(entry, bomb):
    packed(entry).write_bytes(bomb)
    edit_entry(entry, lambda e: e.update(episodes_bytes=1000 << 20))
    (problem,) = problems_of(entry)
    assert problem == (
        f"episodes: episodes.jsonl.gz unpacks to 1,048,576,000 bytes from {len(bomb):,}, more than "
        "500 times its size"
    )
    edit_entry(entry, lambda e: e.update(episodes_bytes=10**12))
    (problem,) = problems_of(entry)
    assert problem.endswith("unpacks to 1,000,000,000,000 bytes; the maximum is 2,000,000,000")


def test_a_bomb_that_says_less_is_refused_where_it_exceeds_that(entry, bomb):
    packed(entry).write_bytes(bomb)
    said = len(bomb)
    edit_entry(entry, lambda e: e.update(episodes_bytes=said))
    assert problems_of(entry) == [
        f"episodes: episodes.jsonl.gz unpacks to more than the {said:,} bytes that entry.json says"
    ]
    edit_entry(entry, lambda e: e.update(episodes_bytes=400 * len(bomb)))
    assert problems_of(entry) == [
        "episodes: episodes.jsonl.gz line 1 is longer than the maximum of 4,194,304 bytes"
    ]


def test_a_file_that_is_padded_is_refused(entry):
    raw = zlib.decompress(gz(entry), 31)
    squeeze = zlib.compressobj(9, wbits=-15)
    blocks = b"\0\0\0\xff\xff" * (1 << 20) + squeeze.compress(raw) + squeeze.flush()
    end = struct.pack("<II", zlib.crc32(raw), len(raw))
    packed(entry).write_bytes(gz(entry)[:10] + blocks + end)  # 5 MB of empty blocks
    size = 18 + len(blocks)
    assert problems_of(entry) == [
        f"episodes: episodes.jsonl.gz has {size:,} bytes for {len(raw):,}, more than it takes to "
        "store them"
    ]
    packed(entry).write_bytes(gzip.compress(raw, 0, mtime=0))
    assert problems_of(entry) == []


def test_a_bomb_in_a_bomb_is_no_episode(entry, bomb):
    nested = bomb + b"\n" + random.Random(0).randbytes(10_000)
    packed(entry).write_bytes(gzip.compress(nested, mtime=0))
    edit_entry(entry, lambda e: e.update(episodes_bytes=len(nested)))
    assert problems_of(entry)[0] == "episodes: line 1 is not UTF-8"


def test_after_twenty_reasons_nothing_more_is_replayed(many, tmp_path, monkeypatch):
    shutil.copytree(many, tmp_path / "entry")
    changed = [{**record, "score": 0.123} for record in records(many)]
    write_lines(tmp_path / "entry", map(to_line, changed))
    replayed = []
    walk = Replayer.walk

    def counted(replayer, recorded):
        replayed.append(recorded)
        return walk(replayer, recorded)

    monkeypatch.setattr(Replayer, "walk", counted)
    verdict = verify(tmp_path / "entry")
    assert len(changed) == 64
    assert len(replayed) == verdict.episodes == 20
    assert len(verdict.problems) == 21
    assert verdict.problems[-1] == "episodes: the check stopped after line 20"


def test_a_million_empty_lines_stop_after_the_planned_ones(entry):
    write_lines(entry, [b""] * 10**6)
    edit_entry(entry, lambda e: e.update(episodes_bytes=10**5))
    found = problems_of(entry)
    assert len(found) == 9
    assert found[0].startswith("episodes: line 1 is not JSON (Expecting value")
    assert found[-1] == "episodes: there are more lines than the 8 episodes planned"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("episodes.jsonl.gz", "10,000,000,000 bytes; the maximum is 100,000,000"),
        ("entry.json", "10,000,000,000 bytes; the maximum is 1,048,576"),
    ],
)
def test_ten_gigabytes_are_refused_by_their_size(entry, name, says):
    os.truncate(entry / name, 10**10)  # a sparse file, which takes no room
    assert problems_of(entry) == [f"files: {name} has {says}"]


@pytest.mark.parametrize("name", ["entry.json", "episodes.jsonl.gz"])
def test_only_plain_files(entry, tmp_path, name):
    file, away = entry / name, tmp_path / "away"
    file.rename(away)
    assert problems_of(entry) == [f"files: {name} is missing"]
    file.symlink_to(away)
    assert problems_of(entry) == [f"files: {name} is a link"]
    file.unlink()
    os.mkfifo(file)
    assert problems_of(entry) == [f"files: {name} is not a plain file"]
    file.unlink()
    file.mkdir()
    assert problems_of(entry) == [f"files: {name} is not a plain file"]
    file.rmdir()
    file.symlink_to("/dev/zero")
    assert problems_of(entry) == [f"files: {name} is a link"]


def test_nothing_else_in_the_directory(entry):
    (entry / "report.html").write_text("<script>")
    assert problems_of(entry) == [
        'files: holds "report.html"; an entry is entry.json and episodes.jsonl.gz alone'
    ]
    (entry / "report.html").rename(entry / "a\n\udcff")
    assert problems_of(entry)[0].startswith('files: holds "a\\n\\udcff"; an entry is')


def test_the_directory_itself(entry, tmp_path):
    (tmp_path / "link").symlink_to(entry)
    assert problems_of(tmp_path / "link") == ["files: is not a directory"]
    assert problems_of(entry / "entry.json") == ["files: is not a directory"]
    for name in ("A", ".hidden", "x" * 101, "a b", "-a", "é"):
        entry = entry.rename(tmp_path / name)
        assert problems_of(entry)[0].startswith("files: is called ")
    with pytest.raises(UserError, match="nowhere does not exist; give the directory of an entry"):
        verify(tmp_path / "nowhere")


def gz(entry):
    return packed(entry).read_bytes()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data[:-1], "is truncated"),
        (lambda data: data[:500], "is truncated"),
        (lambda data: data + b"\0", "has more bytes behind its end"),
        (lambda data: data + data, "has more bytes behind its end"),
        (lambda data: data + gzip.compress(b"", mtime=0), "has more bytes behind its end"),
        (lambda data: b"", "does not begin as a gzip file without name and time"),
        (lambda data: b"PK\3\4" + data, "does not begin as a gzip file without name and time"),
        (lambda data: gzip.compress(data, mtime=1), "does not begin as a gzip file without"),
        (lambda data: data[:3] + b"\x08" + data[4:], "does not begin as a gzip file without"),
        (
            lambda data: data[:-8] + struct.pack("<I", 1) + data[-4:],
            "is damaged (Error -3 while decompressing data: incorrect data check)",
        ),
        (
            lambda data: data[:-4] + struct.pack("<I", 1),
            "is damaged (Error -3 while decompressing data: incorrect length check)",
        ),
        (lambda data: data[:10] + b"\xff" + data[11:], "is damaged (Error -3 while decompressing"),
    ],
)
def test_other_archives(entry, change, says):
    packed(entry).write_bytes(change(gz(entry)))
    found = problems_of(entry)
    if not gz(entry):
        # Nothing can unpack to something.
        assert "more than 500 times its size" in found[0]
    else:
        assert f"episodes.jsonl.gz {says}" in found[0]


def test_behind_many_chunks_a_tail_is_seen(entry):
    data = gz(entry)
    packed(entry).write_bytes(data + bytes((1 << 16) - len(data)))
    assert problems_of(entry) == ["episodes: episodes.jsonl.gz has more bytes behind its end"]
    packed(entry).write_bytes(data + bytes(1 << 16))
    assert problems_of(entry) == ["episodes: episodes.jsonl.gz has more bytes behind its end"]


def test_a_tail_behind_a_whole_chunk_is_seen():
    line = random.Random(0).randbytes(70_000).replace(b"\n", b"") + b"\n"
    archives = (gzip.compress(line[-length:], 0, mtime=0) for length in range(len(line), 0, -1))
    whole = next(archive for archive in archives if len(archive) == 1 << 16)
    assert len(list(PackedEpisodes(io.BytesIO(whole), 70_000).lines())) == 1
    with pytest.raises(EntryError, match="has more bytes behind its end"):
        list(PackedEpisodes(io.BytesIO(whole + b"x"), 70_000).lines())


def test_the_last_line_has_an_end(entry):
    lines = b"\n".join(map(to_line, records(entry)))
    packed(entry).write_bytes(gzip.compress(lines, mtime=0))
    edit_entry(entry, lambda e: e.update(episodes_bytes=len(lines)))
    assert problems_of(entry) == ["episodes: episodes.jsonl.gz line 8 has no end"]


DEEP = b"[" * 200_000
BAD_JSON = [
    (b"", "is not JSON (Expecting value at character 1)"),
    (b"\xff{}", "is not UTF-8"),
    (b"\xed\xa0\x80", "is not UTF-8"),
    (b"\xef\xbb\xbf{}", "is not JSON"),
    (b"{} {}", "is not JSON (Extra data at character 4)"),
    (b'{"a": 1,}', "is not JSON"),
    (b'{"a": NaN}', "has NaN, which is not a number in JSON"),
    (b'{"a": -Infinity}', "has -Infinity, which is not a number in JSON"),
    (b'{"a": 1e999}', "has a number that is too large"),
    (b'{"a": ' + b"9" * 5000 + b"}", "has an integer of 5000 digits"),
    (b'{"a": 1, "\\u0061": 2}', 'has an object with the key "a" twice'),
    (DEEP, "is nested too deeply"),
    (b"[" * 17 + b"]" * 17, "is nested too deeply"),
    (DEEP.replace(b"[", b'{"a":'), "is nested too deeply"),
]


@pytest.mark.parametrize(("text", "says"), BAD_JSON)
def test_broken_json(entry, text, says):
    honest = list(map(to_line, records(entry)))
    write_lines(entry, [text, *honest[1:]])
    assert problems_of(entry)[0].startswith(f"episodes: line 1 {says}")
    (entry / "entry.json").write_bytes(text)
    assert problems_of(entry)[0].startswith(f"entry.json: {says}")


@pytest.mark.parametrize("text", [b"null", b"[]", b"3", b'"x"', b"{}", b"true", b"[[[[]]]]"])
def test_json_that_is_no_object_of_ours(entry, text):
    honest = list(map(to_line, records(entry)))
    write_lines(entry, [text, *honest[1:]])
    assert problems_of(entry)[0] in (
        "episodes: line 1 is not an object",
        "episodes: line 1 lacks env, split, index, sample, ceiling, outcome, success, score, "
        "return, turns, final_observation",
    )
    (entry / "entry.json").write_bytes(text)
    (problem,) = problems_of(entry)
    assert problem.endswith(("is not an object", ", summary"))


def test_a_key_twice_in_an_episode(entry):
    honest = list(map(to_line, records(entry)))
    line = honest[0].replace(b'"success":', b'"success":false,"success":', 1)
    write_lines(entry, [line, *honest[1:]])
    assert problems_of(entry)[0] == ('episodes: line 1 has an object with the key "success" twice')


def test_a_wrong_type_deep_inside(entry):
    found = records(entry)
    check = EpisodeCheck(read_config(entry_json(entry)["run"]))
    for value in (None, True, [], {}, "x", -1, 10**17, 1.5, ["\ud800"]):
        for name in found[0]["turns"][0]:
            edited = json.loads(json.dumps(found[0]))
            if edited["turns"][0][name] != value:
                edited["turns"][0][name] = value
                assert list(check.check_lines([to_line(edited)])) == [], (name, value)


def test_a_copy_of_the_honest_one_is_verified(honest, tmp_path):
    shutil.copytree(honest, tmp_path / "entry")
    write_lines(tmp_path / "entry", map(to_line, records(honest)))
    assert problems_of(tmp_path / "entry") == []


def test_where_links_cannot_be_refused_nothing_is_opened(entry, monkeypatch):
    monkeypatch.delattr(os, "O_NOFOLLOW")
    with pytest.raises(UserError, match="cannot open files without following links"):
        verify(entry)
