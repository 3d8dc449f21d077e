"""Folders and hub names of models: validity, and the hash or revision for the record.

All files that a loader reads lie in the folder and are in its hash, or loading is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.reading import open_file, parse_json, read_bytes

_HASHED_SUFFIXES = {
    *(".json", ".jinja", ".safetensors", ".bin", ".model", ".txt"),
    *(".tiktoken", ".spm", ".vocab", ".codes"),
}
_TEMPLATES = "additional_chat_templates"
_TOKENIZER = "tokenizer_config.json"
_UNREAD = {"special_tokens_map_file", "added_tokens_file", "tokenizer_config_file"}
"""Values of it that name files and are not read."""
_LONGEST = 256 << 20
"""Bytes of an index or a configuration."""
_CHUNK = 1 << 20
CHECKPOINTS = ("best", "final")
"""Folders of a training run that hold its models."""


def check_folder(name: str, provider: str = "") -> None:
    """Refuse an existing path without config.json, or with a file that lies elsewhere.

    `provider` begins the name that is suggested, such as "hf/".
    """
    folder = Path(name)
    if folder.exists() and not (folder / "config.json").is_file():
        models = (folder / each for each in CHECKPOINTS)
        inner = next((model for model in models if (model / "config.json").is_file()), None)
        hint = f"; did you mean {provider}{inner}?" if inner else ""
        raise UserError(f"{name!r} is not a model folder: it has no config.json{hint}")
    if folder.is_dir():
        list_files(folder)


def describe_content(name: str, config: object) -> dict[str, str]:
    """Return the hash of a folder's files, weights included, or the hub's revision."""
    folder = Path(name)
    if not folder.is_dir():
        return {"revision": str(getattr(config, "_commit_hash", None))}
    return {"fingerprint": hash_files(list_files(folder))}


def list_files(folder: Path) -> dict[str, Path]:
    """Return the files that loaders read, by their names in the folder; UserError for others.

    These are weights, configurations and templates in it, and weights in folders below that an
    index names. No name leads out of the folder, and no link, but for those of the hub's cache.
    """
    found = {
        file.name: file
        for file in sorted(folder.iterdir())
        if file.is_file() and file.suffix in _HASHED_SUFFIXES
    }
    if not any(name.endswith((".safetensors", ".bin")) for name in found):
        found |= {file.name: file for file in sorted(folder.glob("*.pt")) if file.is_file()}
    templates = sorted((folder / _TEMPLATES).glob("*.jinja"))
    more = [f"{_TEMPLATES}/{file.name}" for file in templates if file.is_file()]
    indices = [name for name in found if name.endswith(".index.json")]
    for name in [*_read_names(folder / "config.json", "transformers_weights"), *indices]:
        more.append(name)
        if name.endswith(".index.json"):
            more += _read_names(folder / name, "weight_map")
    found |= {name: folder / name for name in sorted(set(more) - set(found))}
    known = {file.resolve() for file in found.values()}
    # transformers reads them from the working directory.
    named = map(Path, _read_names(folder / _TOKENIZER, "*_file"))
    found |= {str(file): file for file in named if file.is_file() and file.resolve() not in known}
    root = folder.resolve()
    # The hub's cache has links to its own files, two folders above.
    root = root.parents[1] if root.parent.name == "snapshots" else root
    for name, file in found.items():
        if not file.resolve().is_relative_to(root):
            raise UserError(
                f"{str(folder)!r} would read {name} from elsewhere, {file.resolve()}; put the file "
                "itself into the folder"
            )
    return found


def hash_files(files: dict[str, Path]) -> str:
    """Return the hash of files with their names and sizes; those that are missing are left out."""
    digest = hashlib.sha256()
    for name, file in files.items():
        if file.is_file():
            digest.update(f"{name}\0{file.stat().st_size}\0".encode())
            with open_file(file) as content:
                while block := content.read(_CHUNK):
                    digest.update(block)
    return digest.hexdigest()[:16]


def _read_names(file: Path, key: str) -> Iterator[str]:
    """Yield the names of files in a value of a JSON file, which need not exist."""
    try:
        content = parse_json(read_bytes(file, _LONGEST)) if file.is_file() else {}
    except ValueError:
        return  # the loader says what is wrong with it
    if not isinstance(content, dict):
        return
    values: list[Any] = [content.get(key)]
    if key == "*_file":
        names = [name for name in content if name.endswith("_file") and name not in _UNREAD]
        values = [content[name] for name in names]
    elif isinstance(values[0], dict):
        values = list(values[0].values())
    yield from dict.fromkeys(
        value for value in values if isinstance(value, str) and "\0" not in value
    )
