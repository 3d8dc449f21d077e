"""A missing package is one line that names the extra, whatever the model."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

WITHOUT = """
import sys
for name in {names}:
    sys.modules[name] = None  # as if it were not installed
from ragen_bench.cli import main
sys.exit(main({arguments}))
"""


@pytest.mark.parametrize(
    ("model", "package", "extra"),
    [
        ("hf/anything", "torch", "hf"),
        ("hf/anything", "transformers", "hf"),
        ("smollm2-135m", "torch", "hf"),
        ("gguf/anything", "xllamacpp", "gguf"),
        ("gguf/anything", "openai", "gguf"),
        ("openai/anything", "openai", "openai"),
        ("anthropic/anything", "any_llm", "providers"),
        ("anthropic/anything", "openai", "providers"),
        ("google/anything", "any_llm", "providers"),
        ("vllm/anything", "vllm", "vllm"),
        ("random", "rich", "bench"),
        ("random", "jinja2", "bench"),
        ("random", "filelock", "bench"),
    ],
)
def test_the_extra_is_named(tmp_path, model, package, extra):
    code = WITHOUT.format(names=[package], arguments=["evaluate", model, "--suite", "quick"])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    checkout = done.stderr.index(f"in a checkout pip install '.[{extra}]'")
    assert checkout < done.stderr.index(f"pip install 'ragen-bench[{extra}]'")
    assert package in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
