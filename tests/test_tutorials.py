"""The tutorials do what they say, and the examples and the notebook run."""

import json
import subprocess
import sys

import pytest

from docs import build_notebook

from .links import ROOT
from .ragen_bench.models.api import llama
from .tutorial import follow

pytestmark = pytest.mark.slow

NEEDS_VERL = pytest.mark.skipif(sys.version_info >= (3, 13), reason="verl 0.9 is for Python < 3.13")


@pytest.mark.xdist_group("tutorials")  # groups begin first, and half a minute is long at the end
@pytest.mark.parametrize("name", ["environment", "submit", pytest.param("train", marks=NEEDS_VERL)])
def test_a_tutorial_does_what_it_says(name, tmp_path):
    follow(f"tutorials/{name}.md", tmp_path)


@pytest.mark.parametrize("page", ["python.md", "write-an-environment.md"])
def test_a_page_does_what_it_says(page, tmp_path):
    agents = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    code = agents.partition("```python\n")[2].partition("```")[0]
    (tmp_path / "my_agent.py").write_text(code, encoding="utf-8")
    follow(page, tmp_path)


@pytest.mark.xdist_group("language-model")
def test_a_hosted_model_is_evaluated_as_the_tutorial_says(tmp_path):
    with llama.running(cache=True) as url:  # whose prompts begin alike
        follow("tutorials/hosted-model.md", tmp_path, OPENAI_BASE_URL=url, OPENAI_API_KEY="none")


def test_the_tutorials_are_all_followed():
    named = {path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md")}
    assert named == {"environment", "submit", "train", "hosted-model"}


def test_the_notebook_runs_and_is_kept_without_outputs(tmp_path):
    text = (ROOT / "examples" / "first_steps.ipynb").read_text(encoding="utf-8")
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in cells] == [([], None)] * 5
    code = "\n".join("".join(cell["source"]) for cell in cells)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "oracle: " in done.stdout


@pytest.mark.xdist_group("tutorials")
def test_the_notebook_of_arrays_learns_and_its_page_is_up_to_date():
    text = build_notebook.NOTEBOOK.read_text(encoding="utf-8")
    page, pictures = build_notebook.build_page(json.loads(text)["cells"])
    written = build_notebook.PAGE.read_text(encoding="utf-8")
    assert written == page, "run python -m docs.build_notebook"
    assert pictures == {file.name: file.read_bytes() for file in build_notebook.PICTURES.iterdir()}
    assert len(text) + sum(map(len, pictures.values())) < 200_000
    cells = json.loads(text)["cells"]
    assert sum(len(cell["source"]) for cell in cells if cell["cell_type"] == "code") <= 150
    names = build_notebook.run(cells)
    assert build_notebook.build_page(cells)[1]["1.png"] == pictures["1.png"]
    assert names["first"] < 0.18 < names["final"]
