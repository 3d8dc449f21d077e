"""A run of ten thousand episodes in one page."""

import random

import pytest
from playwright.sync_api import expect

from ragen_bench.pages.report import write_report

from .runs import FROZEN_LAKE, SOKOBAN, episode, make_run, summary_of

pytestmark = pytest.mark.xdist_group("report")

INSTANCES, SAMPLES = 250, 20


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    rng = random.Random(5)
    words = [rng.randbytes(rng.randint(1, 4)).hex() for _ in range(3000)]

    def thought():
        chosen = (words[min(int(rng.paretovariate(0.7)), 2999)] for _ in range(40))
        return f"<think>{' '.join(chosen)}</think><answer>Left</answer>"

    episodes = [
        episode(index, sample, env, [thought(), thought()])
        for env in (SOKOBAN, FROZEN_LAKE)
        for index in range(INSTANCES)
        for sample in range(SAMPLES)
    ]
    episodes[7_777]["turns"][1]["answer"] = "the needle"
    run = make_run(tmp_path_factory.mktemp("large") / "run", episodes)
    path = write_report(run, summary_of(episodes))
    assert path.stat().st_size < run.episodes_file.stat().st_size / 4
    return path


def test_ten_thousand_episodes_are_usable(visit, report):
    page = visit(report)
    expect(page.locator("#count")).to_have_text("10,000 episodes")
    options = page.locator("#list [role=option]")
    assert options.count() < 60
    page.locator("#list").evaluate("list => { list.scrollTop = 7_000 * 48 }")
    wanted = options.filter(has_text="FrozenLake-v0 100/5")
    expect(wanted).to_have_count(1)
    assert wanted.get_attribute("aria-posinset") == "7006"
    assert wanted.get_attribute("aria-setsize") == "10000"
    assert options.count() < 60
    wanted.click()
    expect(page.locator("#episode-title")).to_have_text("FrozenLake-v0, instance 100, sample 5")
    page.locator("#list").focus()
    page.keyboard.press("End")
    expect(page.locator("#episode-title")).to_have_text("FrozenLake-v0, instance 249, sample 19")
    expect(options.last).to_be_in_viewport()
    page.locator("#filter-text").fill("the needle")
    expect(page.locator("#count")).to_have_text("1 of 10,000 episodes")
    expect(page.locator("#episode-title")).to_have_text("FrozenLake-v0, instance 138, sample 17")
    expect(page.locator("#turns [aria-current]")).to_have_text("2")


def test_few_chunks_are_held(visit, report):
    """Opening episodes all over the run keeps the memory of a few chunks, not of the run."""
    page = visit(report)
    blocks = page.locator("script.chunk").count()
    assert blocks > 40
    page.locator("#filter-text").fill("no such text")
    expect(page.locator("#count")).to_have_text("0 of 10,000 episodes")
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    # Measured: 7 MB with twelve chunks, 21 MB with all of them.
    assert used < 12e6
