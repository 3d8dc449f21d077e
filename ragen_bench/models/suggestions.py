"""Suggestions for a model's name that has none of the known forms."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from pathlib import Path
from urllib.parse import urlsplit

from ragen_bench.errors import UserError, nearest
from ragen_bench.models.hub import expand_home
from ragen_bench.models.model_folder import CHECKPOINTS
from ragen_bench.reading import TEXT_BYTES, read_bytes

_HUBS = ("huggingface.co", "hf.co")
_OF_FAMILIES = (
    (r"gpt-oss", "hf/openai/{}"),
    (r"gpt2|distilgpt2", "hf/openai-community/{}"),
    (r"pythia|gpt-neo|gpt-j", "hf/EleutherAI/{}"),
    (r"gpt-?\d|chatgpt|o\d|codex|computer-use", "openai/{}"),
    (r"claude", "anthropic/{}"),
    (r"gemini|learnlm", "google/{}"),
    (r"grok", "openai/{} --base-url https://api.x.ai/v1"),
    (r"deepseek-(chat|reasoner)", "openai/{} --base-url https://api.deepseek.com/v1"),
    (r"\w*stral-.*latest", "openai/{} --base-url https://api.mistral.ai/v1"),
    (r"sonar", "openai/{} --base-url https://api.perplexity.ai"),
    (r"nova-|titan", "openai/{} --base-url URL"),
    (r"tinyllama", "hf/TinyLlama/{}"),
    (r"(meta-)?llama", "hf/meta-llama/{}"),
    (r"qwen|qwq|qvq", "hf/Qwen/{}"),
    (r"(code)?gemma|medgemma|shieldgemma", "hf/google/{}"),
    (r"\w*stral|mixtral", "hf/mistralai/{}"),
    (r"deepseek", "hf/deepseek-ai/{}"),
    (r"phi-?\d", "hf/microsoft/{}"),
    (r"smollm", "hf/HuggingFaceTB/{}"),
    (r"olmo|tulu", "hf/allenai/{}"),
    (r"falcon", "hf/tiiuae/{}"),
    (r"(chat)?glm", "hf/zai-org/{}"),
    (r"kimi|moonlight", "hf/moonshotai/{}"),
    (r"command|c4ai|aya", "hf/CohereLabs/{}"),
    (r"granite", "hf/ibm-granite/{}"),
    (r"yi-", "hf/01-ai/{}"),
    (r"internlm", "hf/internlm/{}"),
    (r"exaone", "hf/LGAI-EXAONE/{}"),
    (r"(llama-)?nemotron", "hf/nvidia/{}"),
    (r"minimax", "hf/MiniMaxAI/{}"),
    (r"hermes", "hf/NousResearch/{}"),
    (r"jamba", "hf/ai21labs/{}"),
    (r"lfm", "hf/LiquidAI/{}"),
    (r"stablelm", "hf/stabilityai/{}"),
    (r"seed-oss", "hf/ByteDance-Seed/{}"),
    (r"hunyuan", "hf/tencent/{}"),
    (r"ernie", "hf/baidu/{}"),
)
"""The form of models' names by their beginnings, of vendors and of open weights."""
_ADDRESSES = {
    "openrouter": "https://openrouter.ai/api/v1",
    "together": "https://api.together.xyz/v1",
    "together_ai": "https://api.together.xyz/v1",
    "groq": "https://api.groq.com/openai/v1",
    "xai": "https://api.x.ai/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "mistral": "https://api.mistral.ai/v1",
    "fireworks": "https://api.fireworks.ai/inference/v1",
    "fireworks_ai": "https://api.fireworks.ai/inference/v1",
    "cerebras": "https://api.cerebras.ai/v1",
    "perplexity": "https://api.perplexity.ai",
    "ollama": "http://localhost:11434/v1",
    "lmstudio": "http://localhost:1234/v1",
    "lm_studio": "http://localhost:1234/v1",
    "sglang": "http://localhost:30000/v1",
    "azure": "URL",
    "bedrock": "URL",
    "litellm": "URL",
    "server": "URL",
}
"""Servers of OpenAI's protocol, by the names that other programs give them."""
_PREFIXES = {
    **dict.fromkeys(("huggingface", "transformers", "hub", "local"), "hf/"),
    **dict.fromkeys(("gemini", "vertex", "vertex_ai", "googleai", "google_genai"), "google/"),
    **dict.fromkeys(("llama.cpp", "llamacpp", "llama_cpp", "llama-cpp"), "gguf/"),
    **dict.fromkeys(("claude",), "anthropic/"),
    **dict.fromkeys(("gpt", "oai", "openai-api"), "openai/"),
    **dict.fromkeys(("py", "agent", "module"), "python:"),
    **dict.fromkeys(_ADDRESSES, "openai/"),
}
"""Prefixes of our forms, by those of other programs."""


def suggest_name(model: str, forms: Collection[str]) -> str | None:
    """Return a model's name in a known form, or None where nothing is like it.

    The forms are such as "hf/NAME-OR-DIR", "python:MODULE:ATTRIBUTE" or "random".
    """
    found = _suggest_address(model) or _suggest_file(model)
    if found or not model:
        return found
    first, mark, rest = (*re.split("([/:])", model, maxsplit=1), "", "")[:3]
    prefixes = {prefix[:-1]: prefix for prefix in map(_read_prefix, forms) if prefix}
    if not rest:
        return _suggest_alone(first, mark, prefixes, forms)
    if first in forms:
        return first
    prefix = prefixes.get(first) or _PREFIXES.get(first.lower())
    if mark == ":" and not prefix and _find_form(first):  # as in Ollama's list
        return f"openai/{model} --base-url {_ADDRESSES['ollama']}"
    prefix = prefix or prefixes.get(nearest(first, prefixes) or "")
    if prefix == "python:":
        return _suggest_function(rest)
    if prefix:
        url = _ADDRESSES.get(first.lower())
        return prefix + rest + (f" --base-url {url}" if url else "")
    if mark == "/":
        return None if "/" in rest else f"hf/{model}"
    return _suggest_function(model)


def _read_prefix(form: str) -> str:
    found = re.match("[^/:]+[/:]", form)
    return found[0] if found else ""


def _suggest_address(model: str) -> str | None:
    url = urlsplit(model)
    if url.scheme not in ("http", "https"):
        return None
    if url.hostname in _HUBS:
        return f"hf/{'/'.join(url.path.strip('/').split('/')[:2])}"
    return f"openai/NAME --base-url {model}"


def _suggest_file(model: str) -> str | None:
    """Suggest a GGUF file, a file of Python, or a folder with a model."""
    name, _, attribute = model.rpartition(":") if ".py:" in model else (model, "", "")
    if name.endswith(".py"):
        return _suggest_function(f"{name.removeprefix('python:')}:{attribute}")
    if model.lower().endswith(".gguf"):
        return f"gguf/{model}"
    folder = Path(expand_home(model))
    if folder.is_dir():
        for each in ("", *CHECKPOINTS):
            if (folder / each / "config.json").is_file():
                return f"hf/{Path(model, each)}"
        files = sorted(file.name for file in folder.glob("*.gguf"))
        return f"gguf/{Path(model, files[0])}" if files else None
    return None


def _suggest_alone(
    name: str, mark: str, prefixes: Collection[str], forms: Collection[str]
) -> str | None:
    """Suggest the form of a provider, a model with a name of its own, or a vendor's model."""
    ours = dict(zip(prefixes, (form for form in forms if _read_prefix(form)), strict=True))
    if found := ours.get(nearest(name, ours) or ""):
        return found
    if mark:
        return None
    if Path(f"{name}.py").is_file():
        return _suggest_function(name)
    found = nearest(name, [form for form in forms if not _read_prefix(form)])
    form = None if found else _find_form(name)
    return form.format(name) if form else found


def _find_form(name: str) -> str | None:
    return next((form for begin, form in _OF_FAMILIES if re.match(begin, name, re.I)), None)


def _suggest_function(words: str) -> str:
    """Suggest a function of a module, from the path of a file or a module and a name."""
    path, _, attribute = words.partition(":")
    is_file = path.endswith(".py")
    module = path.removesuffix(".py").strip("./").replace("/", ".")
    file = Path(path if is_file else f"{module.replace('.', '/')}.py")
    attribute = attribute.replace(":", ".")
    if "." in attribute:  # the parts of a module, with colons between them
        inner, _, attribute = attribute.rpartition(".")
        module = f"{module}.{inner}"
    elif not (attribute or is_file or file.is_file()) and "." in module:
        module, _, attribute = module.rpartition(".")
    if path.startswith(("/", "~")):
        module = Path(path).stem
    return f"python:{module}:{attribute or _find_function(file)}"


def _find_function(file: Path) -> str:
    """Return the name of the only public function or class of a file, or a word for it."""
    try:
        tree = ast.parse(read_bytes(file, TEXT_BYTES))
    except (OSError, UserError, RecursionError, SyntaxError, ValueError):
        return "FUNCTION"
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [node.name for node in tree.body if isinstance(node, kinds)]
    public = [name for name in names if not name.startswith("_")]
    return public[0] if len(public) == 1 else "FUNCTION"
