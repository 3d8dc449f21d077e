"""The site in a browser."""

import dataclasses

import pytest
from playwright.sync_api import expect

from ragen_bench.pages.leaderboard.figures import Player
from tests.ragen_bench.pages.leaderboard.conftest import SOURCE, write_pages
from tests.ragen_bench.pages.leaderboard.entries import drawn, gallery, made, rerun
from tests.ragen_bench.pages.looks import BACKGROUND, DARK, check_contrast

pytestmark = pytest.mark.xdist_group("leaderboard")

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}"
TEXTS = "p, td, th, dt, dd, a, li, h2, caption, .aside, .quote"
TURNED = "\u202egnp.exe"


def names(page, table=0):
    """The models of a table from top to bottom, those that are shown."""
    rows = page.locator("table.ranking").nth(table).locator("tbody th a:visible")
    return rows.all_inner_texts()


def test_each_suite_has_one_table_with_the_scores_first(visit, index):
    page = visit(index)
    assert page.locator(".board h2").all_inner_texts() == [
        "Suite core, version 1",
        "Suite quick, version 1",
    ]
    assert names(page)[:4] == ["Oracle", "Of an old suite", "In form by force", "Large model"]
    places = page.locator("table.ranking").first.locator("tbody td.place").all_inner_texts()
    assert places[:4] == [
        "test split, 01234567\nnot ranked",
        "test split, ffffffff\nrank 1 of 1",
        "test split, constrained to the form\nrank 1 of 1",
        "test split, 01234567\nrank 1 of 5",
    ]
    expect(page.get_by_text("0123456789abcdef").first).to_be_hidden()
    page.locator("summary", has_text="Hashes").first.click()
    expect(page.get_by_text("0123456789abcdef").first).to_be_visible()
    expect(page.get_by_text(f"sealed key {'5' * 64}")).to_be_visible()
    row = page.get_by_role("row", name="Large model")
    expect(row).to_contain_text("0.710 0.680 to 0.740")
    expect(row).to_contain_text("interval 64.0 to 80.0; random player 12.5, oracle 93.8")
    expect(row.locator("svg .random")).to_have_count(4)
    expect(row.locator("svg .oracle")).to_have_count(4)


def test_an_entry_s_page_names_a_reference_player(tmp_path):
    entry = made("large")
    rows = entry.figures.rows
    rows = dataclasses.replace(rows[0], env="ragen/MinesweeperLarge-v0"), *rows[1:]
    figures = dataclasses.replace(entry.figures, rows=rows)
    index = write_pages(tmp_path, [dataclasses.replace(entry, figures=figures)])
    page = (index.parent / "entries/large/index.html").read_text(encoding="utf-8")
    said = (
        "MinesweeperLarge-v0: the oracle is a reference player and its score is not an upper bound"
    )
    assert page.count(said) == page.count("reference player") == 1


def test_a_score_near_the_blind_script_is_marked_in_the_ranking(tmp_path):
    entry = made("large")
    first, *rest = entry.figures.rows
    (tmp_path / "marked").mkdir()
    for blind, count in ((0.99, 1), (0.01, 0)):
        rows = (dataclasses.replace(first, blind=Player(blind, (blind, 1.0))), *rest)
        figures = dataclasses.replace(entry.figures, rows=rows)
        index = write_pages(tmp_path / "marked", [dataclasses.replace(entry, figures=figures)])
        board = index.read_text(encoding="utf-8").partition('class="legend"')[0]
        assert board.count("°</span>") == count
        assert board.count("; not shown to be above random or blind") == count


def test_drawings_are_where_the_figures_are(visit, index):
    page = visit(index)
    drawn = page.get_by_role("row", name="Large model").locator("td.env svg").first

    def x_of(part):
        return float(drawn.locator(part).get_attribute("x1" if "line" in part else "cx"))

    # From 5 to 81 on an axis of rates from 0 to 1.
    assert x_of(".random line") == 5 + 76 * 0.125
    assert x_of(".oracle line") == 5 + 76 * 0.9375
    assert x_of("circle") == pytest.approx(5 + 76 * 0.7, abs=0.01)


def test_columns_are_sorted_by_mouse_and_keyboard(visit, index):
    page = visit(index)
    first = names(page)
    table = page.locator("table.ranking").first
    head = table.get_by_role("columnheader", name="score")
    assert head.get_attribute("aria-sort") is None
    head.get_by_role("button").click()
    assert (names(page), head.get_attribute("aria-sort")) == (first, "descending")
    head.get_by_role("button").press("Enter")
    assert (names(page), head.get_attribute("aria-sort")) == (first[::-1], "ascending")
    expect(page.locator("#announcement[role=status]")).to_have_text("Sorted by score, ascending.")
    table.get_by_role("button", name="model").press("Space")
    assert names(page) == sorted(first, key=str.lower)
    assert head.get_attribute("aria-sort") is None
    size = table.get_by_role("button", name="size")
    size.click()
    # Without a size: last, in the order of the scores.
    unsized = ["Oracle", "Of an old suite", "In form by force", "Sealed", "Undated", "Random"]
    sized = ["Large model", "Its twin", "A model in the middle", first[-1]]
    assert names(page) == [*sized, *unsized]
    size.click()
    assert names(page) == [*sized[::-1], *unsized]
    table.get_by_role("button", name="date").click()
    assert names(page)[:3] == ["Large model", "Its twin", "In form by force"]
    table.get_by_role("button", name="rank").click()
    assert names(page)[4:6] == ["Sealed", "A model in the middle"]
    assert names(page)[-2:] == ["Oracle", "Random"]
    table.get_by_role("button", name="Bandit-v0").click()
    assert names(page)[0] == "Oracle"
    assert names(page, 1) == ["A quick one"]


@pytest.mark.parametrize(
    ("chosen", "left"),
    [
        ({"Model size": "10 to 100 billion"}, ["Large model", "Its twin", "Oracle", "Random"]),
        ({"Split": "sealed"}, ["Sealed"]),
        ({"Player": "agent"}, ["A quick one"]),
        ({"Player": "baseline"}, ["Oracle", "Random"]),
        ({"Since": "2026-01-20"}, ["Large model", "Its twin", "Oracle", "Random"]),
        ({"Settings": "constrained to the form"}, ["In form by force"]),
        ({"Split": "sealed", "Settings": "constrained to the form"}, []),
    ],
)
def test_filters(visit, index, chosen, left):
    page = visit(index)
    for label, value in chosen.items():
        if label == "Since":
            page.get_by_label(label).fill(value)
        else:
            page.get_by_role("combobox", name=label).select_option(label=value)
    shown = page.locator(".board tbody th a:visible").all_inner_texts()
    assert sorted(shown) == sorted(left)
    expect(page.locator("#count")).to_have_text(f"{len(left)} of 11 entries")
    expect(page.get_by_text("No entry matches")).to_be_visible(visible=not left)
    expect(page.locator(".board:visible")).to_have_count(1 if left else 0)
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#count")).to_have_text("11 of 11 entries")
    expect(page.locator(".board:visible")).to_have_count(2)


def test_a_keyboard_reaches_and_uses_everything(visit, index):
    page = visit(index)
    seen = []
    for _ in range(30):
        page.keyboard.press("Tab")
        name, style, width = page.evaluate(
            "(() => { const e = document.activeElement, s = getComputedStyle(e), n = e.textContent;"
            " return [e.id || n.trim(), s.outlineStyle, parseFloat(s.outlineWidth)]; })()"
        )
        assert (style, width) == ("solid", 2), name
        seen.append(name)
    for name in (
        "theme",
        "How to read the tables",
        "filter-size",
        "filter-since",
        "show-all",
        "score",
        "split and rank",
        "Oracle",
    ):
        assert name in seen
    page.locator("summary", has_text="How to read").press("Enter")
    expect(page.get_by_text("The best entry opens rank 1")).to_be_visible()
    page.get_by_role("combobox", name="Split").focus()
    page.keyboard.type("s")
    expect(page.locator("#count")).to_have_text("1 of 11 entries")
    page.get_by_role("button", name="Dark").press("Enter")
    assert page.evaluate(BACKGROUND) == DARK
    page.get_by_role("link", name="Sealed").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sealed")


def test_links_lead_there_and_back(visit, index):
    page = visit(index)
    page.get_by_role("link", name="Large model").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Large model")
    expect(page.locator(".lead")).to_have_text("Suite core v1, test split, rank 1 of 5.")
    expect(page.get_by_role("link", name="https://example.org/large?a=1&b=2")).to_have_attribute(
        "rel", "nofollow noopener noreferrer"
    )
    page.get_by_role("link", name="a rerun with another seed").click()
    expect(page.get_by_role("heading", name="Rerun by a maintainer")).to_be_in_viewport()
    page.get_by_role("link", name="Leaderboard").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Leaderboard")
    page.get_by_role("link", name="Reported elsewhere").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Reported elsewhere, not comparable")
    expect(page.get_by_role("row", name="Theirs")).to_contain_text("21.48")
    page.get_by_role("link", name="Leaderboard").click()
    page.get_by_role("link", name="Random").click()
    expect(page.locator(".lead")).to_contain_text("the random baseline")
    broken = page.evaluate(
        "[...document.querySelectorAll('a[href^=\"#\"]')].filter(a => !document.querySelector("
        "a.getAttribute('href'))).length"
    )
    assert broken == 0


def test_what_was_not_done_is_said(visit, index):
    page = visit(index.parent / "entries/small/index.html")
    expect(page.get_by_text("Not verified: the metrics are the entry's own")).to_be_visible()
    expect(page.get_by_role("link", name="Report with all")).to_have_count(0)
    page = visit(index.parent / "entries/middle/index.html")
    expect(page.get_by_text("Not reproduced: a rerun with another seed differs")).to_be_visible()
    expect(page.get_by_role("link", name="Report with all")).to_have_attribute(
        "href", "report.html"
    )
    page = visit(index.parent / "entries/hidden/index.html")
    expect(page.get_by_text("would reveal the sealed instances")).to_be_visible()
    expect(page.get_by_role("link", name="Report with all")).to_have_count(0)
    expect(page.get_by_text("5" * 64)).to_be_hidden()
    page.locator("summary", has_text="Hashes").click()
    expect(page.get_by_text("5" * 64)).to_be_visible()


def test_a_first_place_is_open_until_it_is_reproduced(visit, tmp_path):
    both = {"parameters": 7}
    index = write_pages(
        tmp_path,
        [
            drawn("first", 0.71, 0.68, 0.74, name="First", **both),
            drawn("shared", 0.7, 0.67, 0.73, name="Shared", rerun=rerun(), **both),
            drawn("differs", 0.69, 0.67, 0.73, name="Differs", rerun=rerun(False), **both),
            drawn("third", 0.1, 0.05, 0.15, name="Third", **both),
            made("public", name="Public"),
            made("random", 0.8, 0.7, 0.9, name="Random", model="random"),
        ],
    )
    page = visit(index)
    said = "first place, not reproduced yet"
    marks = {
        row.get_by_role("link").inner_text(): row.locator(".mark-list li").all_inner_texts()
        for row in page.locator("table.ranking tbody tr").all()
    }
    assert marks == {
        "First": ["verified", said],
        "Shared": ["verified", "reproduced"],
        "Differs": ["verified", "not reproduced"],
        "Third": ["verified"],
        "Public": ["verified", said],
        "Random": ["verified"],
    }
    for name, wanted in (
        ("first", ": no maintainer has rerun the model on a new draw."),
        ("public", ": no maintainer has rerun the model with another seed."),
        ("shared", None),
        ("differs", None),
        ("third", None),
    ):
        badges = visit(index.parent / f"entries/{name}/index.html").locator(".badge")
        texts = [text for text in badges.all_inner_texts() if "yet" in text]
        assert texts == ([f"First place, not reproduced yet{wanted}"] if wanted else [])
    page = visit(index.parent / "entries/differs/index.html")
    expect(page.get_by_text("Not reproduced: a rerun on a new draw differs.")).to_be_visible()


@pytest.mark.parametrize("width", [320, 1200])
def test_what_was_announced_and_drawn_is_shown(visit, tmp_path, width):
    again = {**rerun(), "draw": {"commitment": "c0" * 32, "value": "ea" * 32}}
    index = write_pages(tmp_path, [drawn("it", rerun=again), made("other")])
    looks = {"viewport": {"width": width, "height": 800}}
    page = visit(index.parent / "entries/it/index.html", **looks)
    expect(page.get_by_role("link", name="2026-11-23T22:23:51Z")).to_have_attribute(
        "href", f"../../draws/{'c0' * 32}.json"
    )
    page.locator("summary", has_text="Hashes").click()
    for text in ("c0" * 32, "da" * 32):
        expect(page.get_by_text(text, exact=True)).to_be_visible()
    expect(page.get_by_text(f"seed 1, drawn value {'ea' * 32}.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page = visit(index.parent / "entries/other/index.html", **looks)
    expect(page.get_by_text("Announced as")).to_have_count(0)


def test_hostile_texts_are_texts(visit, tmp_path):
    entry = made(
        "hostile",
        name=HOSTILE,
        submitter='" onmouseover="alert(3)',
        contact="javascript:alert(4)",
        unchecked={"link": "javascript:alert(5)"},
        command=HOSTILE,
        model_identity={HOSTILE: {"a": [HOSTILE]}},
        versions={"python": HOSTILE},
        date="2026-01-01",
        rerun={**rerun(), "model": HOSTILE},
    )
    run = entry.entry.run.model_copy(update={"model": TURNED})  # which an entry is refused for
    entry = dataclasses.replace(entry, entry=entry.entry.model_copy(update={"run": run}))
    page = visit(write_pages(tmp_path, [entry]))
    assert names(page) == [HOSTILE]
    page.get_by_role("link", name="</script>").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    expect(page.locator("pre.command")).to_have_text(HOSTILE)
    expect(page.locator("dd", has_text="javascript:alert(5)")).to_be_visible()
    expect(page.get_by_text("⟨U+202E⟩gnp.exe")).to_be_visible()
    assert page.locator("img, iframe, body > script").count() == 1  # the page's own script
    links = page.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert [link.partition("#")[0] for link in links] == ["../../index.html", "", "report.html"]


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
def test_no_page_scrolls_sideways(visit, index, width):
    for name in ("index.html", "reference.html", "entries/large/index.html"):
        page = visit(index.parent / name, viewport={"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page = visit(index, viewport={"width": width, "height": 800}, has_touch=True)
    page.locator("table.ranking").first.get_by_role("button", name="date").tap()
    assert names(page)[0] == "Large model"
    # Score and name stay while the figures are scrolled; on a phone nothing is.
    wide = page.locator(".wide").first
    wide.evaluate("place => place.scrollTo(9999, 0)")
    row = page.locator("table.ranking tbody tr").first
    score, name = (row.locator(part).bounding_box() for part in ("td.scored", "th.model"))
    assert 0 <= score["x"] < score["x"] + score["width"] <= name["x"] + 1 < width / 2 + 30
    if width < 400:
        assert wide.evaluate("place => place.scrollWidth <= place.clientWidth")
        date = row.locator("td").last.bounding_box()
        assert date["x"] + date["width"] <= width


@pytest.mark.parametrize("width", [320, 800])
def test_what_stands_around_a_wide_table_is_read_without_scrolling(visit, tmp_path, width):
    word = "sokoban_speedrun_of_somebody_else/"
    source = dataclasses.replace(SOURCE, title=word * 2, link=f"https://example.org/{word * 4}")
    index = write_pages(tmp_path, gallery(), [source])
    for name in ("index.html", "reference.html", "entries/large/index.html"):
        page = visit(index.parent / name, viewport={"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        # Paper lies between a caption's words and the shadows at the edges.
        assert not page.locator("caption").evaluate_all(
            "all => all.some(c => getComputedStyle(c).backgroundColor === 'rgba(0, 0, 0, 0)')"
        )
        for caption in page.locator("caption:visible, h2:visible").all():
            box = caption.bounding_box()
            assert box["x"] >= 0, name
            assert box["x"] + box["width"] <= width, (name, caption.inner_text())


def test_a_screen_reader_finds_its_way(visit, index):
    tree = visit(index).locator("body").aria_snapshot()
    for line in (
        'heading "Leaderboard" [level=1]',
        'search "Entries"',
        'combobox "Model size"',
        'region "Suite core, version 1"',
        'table "Suite score, and success in per cent',
        'columnheader "score"',
        'rowheader "Large model language model · Somebody verified reproduced"',
    ):
        assert line in tree, line


def test_ids_are_unique_and_controls_named(visit, index):
    for name in ("index.html", "entries/large/index.html"):
        page = visit(index.parent / name)
        ids = page.locator("[id]").evaluate_all("all => all.map(e => e.id)")
        assert len(ids) == len(set(ids))
        unnamed = page.evaluate(
            "[...document.querySelectorAll('button, select, input, a, [tabindex=\"0\"]')]"
            ".filter(e => !(e.textContent.trim() || e.labels?.length"
            " || e.getAttribute('aria-labelledby'))).length"
        )
        assert unnamed == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast(visit, index, theme):
    for name in ("index.html", "entries/middle/index.html", "reference.html"):
        check_contrast(visit(index.parent / name, color_scheme=theme), TEXTS, 10)


def test_without_scripts_the_ranking_is_there(visit, index):
    page = visit(index, java_script_enabled=False)
    expect(page.locator("table.ranking tbody tr:visible")).to_have_count(11)
    expect(page.locator("#filters")).to_be_hidden()
    expect(page.locator("button.sort")).to_have_count(0)


def test_no_entries_and_no_sources(visit, tmp_path):
    page = visit(write_pages(tmp_path, [], ()))
    expect(page.get_by_text("There are no entries yet.")).to_be_visible()
    expect(page.get_by_text("Reported elsewhere")).to_have_count(0)
    assert not (tmp_path / "reference.html").exists()


@pytest.mark.slow
def test_the_same_entries_give_the_same_pages(tmp_path):
    one, other = (tmp_path / name for name in ("one", "other"))
    write_pages(one, gallery())
    write_pages(other, gallery()[::-1])
    files = [file.relative_to(one) for file in sorted(one.rglob("*.html"))]
    assert len(files) == 13
    for file in files:
        assert (one / file).read_bytes() == (other / file).read_bytes()
