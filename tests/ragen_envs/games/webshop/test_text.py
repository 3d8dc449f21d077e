from hypothesis import given

from ragen_envs.games.webshop.pages import Page, click, labels, run_search
from ragen_envs.games.webshop.products import Catalogue
from ragen_envs.games.webshop.text import list_actions, render_page, rules
from tests.ragen_envs.games.webshop.support import SMALL, product, search, walked, walks

ASKED = "i need a red mat"


def test_an_item_in_both_modes():
    page = click(SMALL, Page("item", (0,), 1, 0), "blue")
    assert render_page(SMALL, page, ASKED, "rich") == (
        "Instruction:\ni need a red mat\n"
        "[button] back to search [button_]\n[button] < prev [button_]\n"
        "color:\n[button] red [button_]\n[clicked button] blue [clicked button_]\n"
        "size:\n[button] s [button_]\n[button] m [button_]\n[button] l [button_]\n"
        "Chosen: color: blue\nRed Mat\nPrice: $10.00\nRating: N.A.\n"
        "[button] description [button_]\n[button] features [button_]\n"
        "[button] reviews [button_]\n[button] attributes [button_]\n[button] buy now [button_]"
    )
    assert render_page(SMALL, page, ASKED, "plain") == (
        "Instruction: [SEP] i need a red mat [SEP] back to search [SEP] < prev [SEP] color: [SEP] "
        "red [SEP] blue [SEP] size: [SEP] s [SEP] m [SEP] l [SEP] Chosen: color: blue [SEP] "
        "Red Mat [SEP] Price: $10.00 [SEP] Rating: N.A. [SEP] description [SEP] features [SEP] "
        "reviews [SEP] attributes [SEP] buy now"
    )


def test_results_name_products_and_prices():
    page = run_search(Page(), "plain red", search)
    assert render_page(SMALL, page, ASKED, "plain") == (
        "Instruction: [SEP] i need a red mat [SEP] back to search [SEP] Page 1 (Total results: 2) "
        "[SEP] paaa [SEP] Red Mat [SEP] $10.00 [SEP] pccc [SEP] Plain Mat [SEP] $9.50 to $12.25"
    )


def test_pages_below_an_item():
    said = {
        kind: render_page(SMALL, Page(kind, (0,), 1, 0), ASKED, "plain").split(" [SEP] ")[4:]
        for kind in ("description", "features", "reviews", "attributes")
    }
    assert said == {
        "description": ["About Red Mat."],
        "features": ["First line.", "Second line."],
        "reviews": ["There are no reviews."],
        "attributes": ["soft touch"],
    }


def test_long_texts_are_cut():
    def below(kind):
        return render_page(SMALL, Page(kind, (3,), 1, 3), ASKED, "plain").split(" [SEP] ")[4:]

    (description,) = below("description")
    assert len(description) == 1500
    assert description.endswith("...")
    assert below("features") == ["b" * 900, "..."]


def test_texts_stay_in_their_lines():
    odd = Catalogue((product("PX", "a\n\nb", description="c\r\n\td"),), "odd")
    assert "About" not in render_page(odd, Page("description", (0,), 1, 0), ASKED, "rich")
    assert render_page(odd, Page("description", (0,), 1, 0), ASKED, "rich").endswith("\nc d")
    assert "\na b\n" in render_page(odd, Page("results", (0,)), ASKED, "rich")


@given(walks)
def test_what_can_be_clicked_is_marked_and_nothing_else(walk):
    for page in walked(Page(), walk):
        rich = render_page(SMALL, page, ASKED, "rich").splitlines()
        marked = {
            line.split("] ", 1)[1].rsplit(" [", 1)[0]
            for line in rich
            if line.startswith(("[button] ", "[clicked button] "))
        }
        assert marked == set(labels(SMALL, page))
        plain = render_page(SMALL, page, ASKED, "plain").split(" [SEP] ")
        assert set(labels(SMALL, page)) <= set(plain)
        assert len(plain) == len(rich)


def test_the_line_of_actions():
    assert list_actions(Page(), ()) == "Actions: search[WORDS]"
    assert list_actions(Page("results"), ("back to search",)) == "Actions: click[back to search]"


def test_rules_say_the_budget():
    assert rules("rich", 9).endswith("\nYou have 9 turns with one action each.")
    assert "[button]" in rules("rich", 9)
    assert "last line" in rules("plain", 9)
