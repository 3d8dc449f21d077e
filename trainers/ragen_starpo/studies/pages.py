"""The files of the published findings: the page, pictures, JSON, and curves."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ragen_bench.json_types import JsonObject
from ragen_bench.markdown import Markdown, bold, code, escape_markdown, link, make_table
from ragen_bench.pages.formats import NONE
from ragen_bench.runs.atomic import replacing, write_text
from ragen_starpo.studies.definition import METRICS, OWN, WINDOW, list_studies
from ragen_starpo.studies.legend import COLUMNS, make_legend
from ragen_starpo.studies.pictures import render_curves, render_forest
from ragen_starpo.studies.results import Finding, make_results, pack_curves

_RULES = "https://ragen-bench.github.io/ragen-bench/studies/#verdicts"
_SETTINGS = "https://ragen-bench.github.io/ragen-bench/recipes/"
_CATALOGUE = (
    "https://github.com/ragen-bench/ragen-bench/blob/main/trainers/ragen_starpo/studies/catalogue/"
)
_CAUTION = (
    "The agents have 0.1 million weights and write no thoughts, so a disagreement does not refute "
    "a paper. Rows of one game share the runs of their baseline, so they are not independent. "
    "Verdicts are joint at 95 % over the claims of a study, not over this page."
)
_COPY = "A copy of the published runs gives the same page within seconds, without training."
_SAME = "With the folder of the runs as `--out` the page comes within seconds, without training."
_AGREES = {True: ", as claimed", False: ", not as claimed", None: ""}


def write_pages(folder: Path, findings: Sequence[Finding]) -> None:
    """Write `findings.md`, `findings.json` and the folder `findings` with pictures and curves."""
    results = make_results(findings)
    pictures = folder / "findings"
    pictures.mkdir(parents=True, exist_ok=True)
    write_text(folder / "findings.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write_text(folder / "findings.md", render_page(results))
    for paper, claims in _by_paper(results).items():
        write_text(pictures / f"{_slug(paper)}.svg", render_forest(claims))
    for finding in findings:
        write_text(pictures / f"study-{finding.study.name}.svg", render_curves(finding.runs))
    with replacing(pictures / "curves.npz") as content:
        content.write(pack_curves(findings))


def render_page(results: JsonObject) -> str:
    """Return the page of all findings in Markdown."""
    papers = _by_paper(results)
    parts = [
        "# The papers' findings on small agents",
        _describe_counts(results),
        "## Cautions",
        _CAUTION,
        "## Verdicts by paper",
        _make_summary(papers),
        *make_legend(results["studies"]),
    ]
    for paper, claims in papers.items():
        picture = f"![Differences by claim](findings/{_slug(paper)}.svg)"
        table = make_table(list(COLUMNS), [_claim_row(claim) for claim in claims])
        parts += [f"## {escape_markdown(paper)}", picture, table]
    return "\n\n".join([*parts, *_describe_studies(results["studies"])]) + "\n"


def _describe_counts(results: JsonObject) -> str:
    """Return the numbers of verdicts, on claims of papers and on this suite's own, and costs."""
    claims = [claim for study in results["studies"] for claim in study["claims"]]
    sentences = []
    for text, is_own in (("claims of papers", False), ("expectations of this suite", True)):
        rows = [claim for claim in claims if (claim["paper"] == OWN) == is_own]
        if rows:
            agreed, not_agreed, undecided, closed = _count(rows)
            sentences.append(
                f"Rows that test {text}: {len(rows)}. Of these {agreed} hold here, {not_agreed} do "
                f"not, {undecided} are undecided, and {closed} could not be tested."
            )
    arms = {arm["hash"]: arm for study in results["studies"] for arm in study["arms"]}
    runs, cores, gpus = (
        sum(arm[name] for arm in arms.values()) for name in ("runs", "seconds", "gpu_seconds")
    )
    on_gpus = f" and {gpus / 3600:.1f} GPU-hours" if gpus else ""
    return " ".join(
        [
            "Small agents were trained in small games by reinforcement learning, to test claims "
            "about it.",
            *sentences,
            f"{runs:,} runs of {len(arms)} variants of training took {cores / 3600:.1f} core-hours"
            f"{on_gpus}, without the training of the starting models.",
            f"{link('The rules', _RULES)} say how a claim is judged.",
        ]
    )


def _count(claims: Sequence[JsonObject]) -> list[int]:
    """Return the numbers of claims that hold, do not, are undecided, and are not testable."""
    decided = Counter(claim["as_claimed"] for claim in claims)
    words = Counter(claim["verdict"] for claim in claims)
    return [decided[True], decided[False], words["undecided"], words["not testable here"]]


def _make_summary(papers: Mapping[str, Sequence[JsonObject]]) -> str:
    """Return a table of the numbers of verdicts on each paper's claims."""
    rows = []
    for paper, claims in papers.items():
        anchor = re.sub(r"[^\w -]", "", paper.lower()).replace(" ", "-")
        counts = map(str, [len(claims), *_count(claims)])
        rows.append([link(paper, f"#{anchor}"), *counts])
    head = ["paper", "claims", "as claimed", "not as claimed", "undecided", "not testable here"]
    return make_table(head, rows)


def _describe_studies(studies: Sequence[JsonObject]) -> list[str]:
    """Return the sections on the studies and on how to judge them again."""
    names = [study["name"] for study in studies]
    catalogue = list_studies()
    rows = [
        [
            link(name, f"{_CATALOGUE}{name}.toml") if name in catalogue else name,
            study["question"],
            _list_arms(study["arms"]),
            _make_cost(study["arms"]),
            link("curves", f"findings/study-{name}.svg"),
        ]
        for name, study in zip(names, studies, strict=True)
    ]
    left = [code(name) for name in catalogue if name not in names]
    return [
        "## Studies",
        "A study's name links to its file, which has all settings. The table has those "
        f"{link('settings', _SETTINGS)} in which the variants differ; a variant without any is as "
        "the file says for all. In the pictures of curves thin lines are runs, and the thick one "
        f"is their mean. Each point is the mean of {WINDOW} iterations.",
        make_table(["study", "question", "variants", "core-seconds", "curves"], rows),
        *([f"Studies of the catalogue that were not run yet: {', '.join(left)}."] if left else []),
        "## Judge again",
        f"{_COPY if set(names) <= set(catalogue) else _SAME} With an empty folder as `--out` the "
        "same command trains all agents anew. "
        "[All numbers](findings.json) and [curves](findings/curves.npz) are next to this page.",
        _list_commands(names, catalogue),
    ]


def _list_commands(names: Sequence[str], catalogue: Sequence[str]) -> Markdown:
    """Return the commands that judge studies again; the published runs are of the catalogue."""
    files = [name if name in catalogue else f"{name}.toml" for name in names]
    copy = "$ cp -r docs/results/findings/runs store\n" if files == [*names] else ""
    command = f"$ ragen-train study {' '.join(files)} --out store --pages pages"
    return Markdown(f"```\n{copy}{command}\n```")


def _list_arms(arms: Sequence[JsonObject]) -> Markdown:
    """Return a line for each arm with the settings that not all arms have."""
    settings = {
        arm["name"]: [
            *arm["settings"],
            *(f"{name}={value}" for name, value in arm["task"].items() if value != ""),
            f"iterations={arm['iterations']}",
        ]
        for arm in arms
    }
    shared = set.intersection(*map(set, settings.values()))
    lines = []
    for name, of_arm in settings.items():
        differ = ", ".join(code(setting) for setting in of_arm if setting not in shared)
        lines.append(escape_markdown(name) + (f": {differ}" if differ else ""))
    return Markdown("<br>".join(lines))


def _make_cost(arms: Sequence[JsonObject]) -> str:
    cores, gpu = (sum(arm[name] for arm in arms) for name in ("seconds", "gpu_seconds"))
    return f"{cores:,}" + (f", and {gpu:,} of a GPU" if gpu else "")


def _claim_row(claim: JsonObject) -> list[str]:
    unit = {"points": "", "iterations": " it.", "percent": " %"}[METRICS[claim["metric"]].unit]
    ours = NONE
    if claim["mean"] is not None:
        low, high = claim["interval"]
        ours = f"{_sign(claim['mean'])}{unit} [{_sign(low)}, {_sign(high)}], δ {claim['same']:g}"
    why = escape_markdown(f": {claim['why']}" if claim["why"] else "")
    below = "; all end below their starting models" if claim["below_start"] else ""
    verdict = Markdown(f"{bold(claim['verdict'])}{_AGREES[claim['as_claimed']]}{why}{below}")
    picture = link(claim["study"], f"findings/study-{claim['study']}.svg")
    text = f"{claim['text']} ({claim['metric']})"
    theirs = [claim["figure"] or NONE, claim["number"] or NONE]
    levels = _describe_levels(claim)
    return [text, claim["setting"], *theirs, ours, levels, verdict, str(claim["runs"]), picture]


def _describe_levels(claim: JsonObject) -> str:
    """Return the levels of the claim's first side against its second, or against its number."""
    sides = []
    for arms in (claim["plus"], claim["minus"]):
        texts = []
        for arm in arms:
            level = claim["levels"].get(arm)
            text = f"{arm} {NONE if level is None else _minus(f'{level:.1f}')}"
            if arm in claim["no_sign"]:
                missed, collapsed = claim["no_sign"][arm]
                text += f" (no sign in {missed} of {collapsed} collapsed runs)"
            texts.append(text)
        sides.append("; ".join(texts) or f"{claim['than']:g}")
    return " vs ".join(sides)


def _by_paper(results: JsonObject) -> dict[str, list[JsonObject]]:
    """Return the claims of each paper; RAGEN's papers come first, and this suite's claims last."""
    papers: dict[str, list[JsonObject]] = {}
    for study in results["studies"]:
        for claim in study["claims"]:
            papers.setdefault(claim["paper"], []).append(claim)
    order = sorted(papers, key=lambda name: (name == OWN, "RAGEN" not in name, name.lower()))
    return {name: papers[name] for name in order}


def _slug(paper: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in paper.partition(",")[0].lower())


def _sign(value: float) -> str:
    return _minus(f"{value:+.1f}")


def _minus(number: str) -> str:
    return number.replace("-", "\N{MINUS SIGN}")
