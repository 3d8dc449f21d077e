"""Folders of models: what loaders read of them is in their fingerprint, and lies in them."""

import hashlib
import json

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models.model_folder import check_folder, describe_content

INDEX = "model.safetensors.index.json"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "elsewhere.safetensors").write_bytes(b"other weights")
    (folder / "config.json").write_text("{}")
    (folder / "a.safetensors").write_bytes(b"weights")
    (folder / "README.md").write_text("not read")
    return folder


def fingerprint(folder):
    check_folder(str(folder))
    return describe_content(str(folder), None)["fingerprint"]


def test_the_fingerprint_of_an_ordinary_folder_stays(folder):
    digest = hashlib.sha256()
    for name in ("a.safetensors", "config.json"):
        content = (folder / name).read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    assert fingerprint(folder) == digest.hexdigest()[:16]


def test_all_that_is_read_is_in_the_fingerprint(folder):
    (folder / INDEX).write_text(json.dumps({"weight_map": {"x": "sub/b.safetensors"}}))
    (folder / "sub").mkdir()
    (folder / "additional_chat_templates").mkdir()
    files = ("sub/b.safetensors", "additional_chat_templates/tool_use.jinja", "vocab.tiktoken")
    before = fingerprint(folder)
    for name in files:
        (folder / name).write_bytes(b"1")
        first = fingerprint(folder)
        (folder / name).write_bytes(b"2")
        assert len({before, first, fingerprint(folder)}) == 3
        before = fingerprint(folder)


@pytest.mark.parametrize("name", ["../elsewhere.safetensors", "/etc/hostname", "sub/../../x"])
@pytest.mark.parametrize("kind", ["index", "config", "nested"])
def test_weights_that_lie_elsewhere_are_refused(folder, name, kind):
    index = json.dumps({"weight_map": {"x": "a.safetensors", "y": name}})
    if kind == "index":
        (folder / INDEX).write_text(index)
    elif kind == "config":
        (folder / "config.json").write_text(json.dumps({"transformers_weights": name}))
    else:
        named = {"transformers_weights": "w.safetensors.index.json"}
        (folder / "config.json").write_text(json.dumps(named))
        (folder / "w.safetensors.index.json").write_text(index)
    with pytest.raises(UserError, match=r"from elsewhere, .*put the file itself into the folder"):
        check_folder(str(folder))


@pytest.mark.parametrize("name", ["b.safetensors", "chat_template.jinja", "adapter_config.json"])
def test_links_to_other_folders_are_refused(folder, name):
    (folder / name).symlink_to(folder.parent / "elsewhere.safetensors")
    with pytest.raises(UserError, match=f"would read {name} from elsewhere"):
        check_folder(str(folder))
    (folder / name).unlink()
    (folder / name).symlink_to(folder / "a.safetensors")
    check_folder(str(folder))


def test_a_tokenizer_that_lies_elsewhere_is_refused(folder, monkeypatch):
    other = folder.parent / "tokenizer.json"
    config = {"tokenizer_file": str(other), "special_tokens_map_file": "/etc/hostname"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    check_folder(str(folder))  # as of a model that was saved on another machine
    other.write_text("{}")
    with pytest.raises(UserError, match="from elsewhere"):
        check_folder(str(folder))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_file": "tokenizer.json"}))
    monkeypatch.chdir(folder.parent)
    with pytest.raises(UserError, match="from elsewhere"):
        check_folder(str(folder))
    (folder / "tokenizer.json").write_text("{}")
    monkeypatch.chdir(folder)
    check_folder(str(folder))


def test_the_cache_of_the_hub_has_links_to_its_own_files(folder):
    cache = folder.parent / "models--a--b"
    (cache / "blobs").mkdir(parents=True)
    (cache / "snapshots/1").mkdir(parents=True)
    for name in ("config.json", "a.safetensors"):
        (folder / name).rename(cache / "blobs" / name)
        (cache / "snapshots/1" / name).symlink_to(f"../../blobs/{name}")
    assert fingerprint(cache / "snapshots/1")
