import json
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import pytest

from ragen_envs.games.webshop import loader
from ragen_envs.games.webshop.loader import load, noun_finder
from ragen_envs.games.webshop.products import Goal
from ragen_envs.games.webshop.reward import reward_of
from ragen_envs.games.webshop.search import Index, document

from .excerpt import FOLDER, needs_excerpt, records
from .public import ATTRIBUTES, DESK, LAMP, request, write

RAW = (
    "asin",
    "name",
    "full_description",
    "small_description",
    "product_category",
    "query",
    "customization_options",
)


def raw(record):
    """Return a product of the excerpt as the public file has it: the excerpt's price is parsed."""
    product = record["product"]
    pricing = None if product["Price"] == "$100.0" else product["Price"]
    return {field: product[field] for field in RAW} | {"pricing": pricing}


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("webshop")
    (folder / "items_shuffle_100.json").write_text(json.dumps([raw(r) for r in records()]))
    (folder / "items_ins_v2_100.json").symlink_to(FOLDER / "items_ins_v2_1000.json")
    return folder


def test_a_product_by_hand(tmp_path):
    desk, lamp = load(write(tmp_path)).catalogue.products
    assert desk.asin == "B000000001"
    assert desk.title == "Oak Desk for Women"
    assert desk.bullets == ("Easy clean", "Four legs")
    assert desk.price == (26.5, 1016.99)
    assert desk.breadcrumbs == ("Home", "Furniture", "Desks")
    assert desk.query == "desks"
    assert desk.options == (("size", ("x-small", "small | medium")), ("style", ("plain",)))
    assert desk.attributes == ("easy clean", "solid wood")
    assert desk.nouns == ("oak", "desk", "women")
    assert (lamp.price, lamp.bullets, lamp.options) == ((100.0, 100.0), ("One line",), ())
    assert (lamp.attributes, lamp.breadcrumbs) == ((), ())
    assert document(desk) == (
        "oak desk for women a desk. easy clean size: x-small, small | medium, and style: plain"
    )


@needs_excerpt
def test_all_documents_of_the_excerpt_are_rebuilt(excerpt):
    products = load(excerpt).catalogue.products
    assert [document(p) for p in products] == [record["contents"] for record in records()]
    assert len(products) == 100


@needs_excerpt
def test_the_excerpt_reads_as_the_originals_engine_reads_it(excerpt):
    shop = load(excerpt)
    parsed = [record["product"] for record in records()]
    for product, other in zip(shop.catalogue.products, parsed, strict=True):
        assert product.price == (min(other["pricing"]), max(other["pricing"]))
        assert dict(product.options) == {k: tuple(v) for k, v in other["options"].items()}
        assert product.attributes == tuple(other["Attributes"])
        assert product.query == other["query"]
    assert len(shop.requests) == 44
    assert sum(low < high for low, high in (p.price for p in shop.catalogue.products)) == 13


@needs_excerpt
def test_searches_of_the_excerpt(excerpt):
    """Every title finds its product first, and requests find theirs on the first page or after."""
    shop = load(excerpt)
    search = Index(shop.catalogue).search
    assert [search(p.title)[0] for p in shop.catalogue.products] == list(range(100))
    ranks = [search(asked.instruction).index(asked.product) for asked in shop.requests]
    assert sum(rank == 0 for rank in ranks) == 28
    assert sum(rank < 10 for rank in ranks) == 42
    assert search("console table wood") == [0, 2, 9, 88, 47, 15, 39, 37, 30]
    assert search("women's dress black")[:6] == [5, 71, 46, 65, 20, 57]


@needs_excerpt
def test_a_purchase_in_the_excerpt_by_hand(excerpt):
    """12.5 and light grey are asked for; 12 and black are bought of the right product."""
    shop = load(excerpt)
    places = {product.asin: i for i, product in enumerate(shop.catalogue.products)}
    place = places["B07NZ173GY"]
    target = shop.catalogue.products[place]
    (asked,) = (request for request in shop.requests if request.product == place)
    options = (("size", "12.5"), ("color", "light grey"))
    goal = Goal(place, asked.instruction, asked.attributes, options, 1000.0)
    pieces = len(asked.attributes) + 3
    chosen = {"size": "12", "color": "black"}
    default = reward_of(target, chosen, target.price[1], goal, target)
    assert default.total == (pieces - 2) / pieces
    original = reward_of(target, chosen, target.price[1], goal, target, compat=True)
    assert original.total == (pieces - 1) / pieces  # "12" is among "size 12 5"
    right = reward_of(target, dict(options), target.price[1], goal, target)
    assert right.total == 1


def test_what_the_original_passes_over(tmp_path):
    again = LAMP | {"asin": DESK["asin"]}
    odd = [DESK | {"asin": "nan"}, DESK | {"asin": "B0000000011"}, DESK, again]
    assert [p.title for p in load(write(tmp_path, odd)).catalogue.products] == [DESK["name"]]


def test_catalogues_that_differ_have_different_names(tmp_path):
    names = set()
    for i, products in enumerate(([DESK, LAMP], [LAMP, DESK], [DESK, LAMP | {"query": "x"}])):
        (tmp_path / str(i)).mkdir()
        name = load(write(tmp_path / str(i), products)).catalogue.name
        assert name == load(tmp_path / str(i)).catalogue.name
        assert name.startswith("items_shuffle_1000-2-")
        names.add(name)
    assert len(names) == 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 7}, "field 'name': is not a text but 7"),
        ({"asin": None}, "field 'asin': is not a text but None"),
        ({"full_description": None}, "field 'full_description': is not a text but None"),
        (
            {"small_description": ["a", 1]},
            r"field 'small_description': is not a list of texts but \[",
        ),
        ({"small_description": None}, "field 'small_description': is not a list of texts but None"),
        ({"product_category": []}, "field 'product_category': is not a text"),
        ({"query": None}, "field 'query': is not a text"),
        ({"pricing": 7}, "field 'pricing': is not a text but 7"),
        ({"pricing": "$"}, "field 'pricing': is not .* but '\\$'"),
        ({"pricing": "free\n"}, r"field 'pricing': is not .* but 'free\\n'"),
        (
            {"customization_options": ["a"]},
            "field 'customization_options': is not an object of lists",
        ),
        ({"customization_options": {"a": [{}]}}, "field 'customization_options': 'a' is not a"),
        ({"customization_options": {"a": 7}}, "field 'customization_options': 'a' is not a list"),
        (
            {"customization_options": {"a": [{"value": 7}]}},
            "field .*: 'a' is not a list of objects",
        ),
    ],
)
def test_a_wrong_product_is_named(tmp_path, fields, message):
    with pytest.raises(ValueError, match=f"items_shuffle_1000.json, record 2, {message}") as error:
        load(write(tmp_path, [DESK, LAMP | fields]))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("field", RAW)
def test_a_missing_field_is_named(tmp_path, field):
    lacking = {name: value for name, value in DESK.items() if name != field}
    with pytest.raises(ValueError, match=f"record 1, field '{field}': is missing"):
        load(write(tmp_path, [lacking]))


def test_what_is_no_product_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"record 2: is not an object of fields but 'xxx.*\.\.\.$"):
        load(write(tmp_path, [DESK, "x" * 1000]))
    with pytest.raises(ValueError, match="holds no products"):
        load(write(tmp_path, []))


def test_a_huge_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(loader, "MOST_PRODUCTS", 2)
    assert len(load(write(tmp_path)).catalogue.products) == 2
    monkeypatch.setattr(loader, "MOST_PRODUCTS", 1)
    with pytest.raises(ValueError, match="record 2: that is more than 1 products; keep the first"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"B000000001": ["easy"]}, "record B000000001: is not an object of fields"),
        ({"B000000001": {"attributes": "easy"}}, "record B000000001, field 'attributes': is no"),
        (
            {"B000000001": {"attributes": [], "instruction": "buy"}},
            "record B000000001, field 'instruction_attributes': is missing",
        ),
        (
            {"B000000001": {"instruction": "buy", "instruction_attributes": []}},
            "record B000000001, field 'instruction_attributes': is empty",
        ),
        (
            {"B000000001": {"instruction": 7, "instruction_attributes": ["a"]}},
            "record B000000001, field 'instruction': is not a text but 7",
        ),
    ],
)
def test_wrong_instructions_are_named(tmp_path, attributes, message):
    with pytest.raises(ValueError, match=f"items_ins_v2_1000.json, {message}"):
        load(write(tmp_path, attributes=attributes))


def test_no_request_at_all(tmp_path):
    with pytest.raises(ValueError, match=r"v2_1000\.json has no request for any of the 2 products"):
        load(write(tmp_path, attributes={}))


def test_missing_and_ambiguous_files_are_named(tmp_path):
    with pytest.raises(
        ValueError, match="none is not a folder of WebShop's files: it does not exist"
    ):
        load(tmp_path / "none")
    with pytest.raises(ValueError, match=r"it has no items_shuffle\*.json"):
        load(tmp_path)
    write(tmp_path)
    write(tmp_path, [LAMP | {"asin": DESK["asin"]}], suffix="")
    with pytest.raises(ValueError, match=r"several .*items_shuffle.json, items_shuffle_1000.json"):
        load(tmp_path)
    assert load(tmp_path / "items_shuffle.json").catalogue.products[0].title == "Lamp"
    assert load(tmp_path / "items_shuffle_1000.json").catalogue.products[0].title == DESK["name"]
    (tmp_path / "items_ins_v2.json").unlink()
    load(tmp_path / "items_shuffle.json")
    (tmp_path / "items_ins_v2_1000.json").unlink()
    with pytest.raises(ValueError, match=r"it has no items_ins_v2\*.json"):
        load(tmp_path / "items_shuffle.json")


def test_people_s_requests_come_first(tmp_path):
    assert [r.product for r in load(write(tmp_path)).requests] == [0]
    write(tmp_path, human={"B000000002": [request()], "B000000009": 7})
    assert [r.product for r in load(tmp_path).requests] == [1]


def test_the_rule_for_nouns():
    titles = ["Women's Washable NAVY Desk, desk and 2 Sofa-Tables of Oak", "", "Table of 12 x"]
    nouns = [("women", "desk", "desk", "sofa", "tables", "oak"), (), ("table",)]
    assert list(noun_finder()(titles)) == nouns


def spacy_with(monkeypatch, *models):
    """Put a stand-in in spaCy's place: its models are in no package registry."""
    word = lambda text, pos: SimpleNamespace(text=text, pos_=pos)  # noqa: E731
    tagged = [word("Oak", "PROPN"), word("nice", "ADJ"), word("Desk", "NOUN"), word("in", "ADP")]
    spacy = ModuleType("spacy")
    spacy.__spec__ = ModuleSpec("spacy", None)
    spacy.util = SimpleNamespace(is_package=lambda name: name in models)

    def load_model(name, exclude):
        assert name == models[0]
        return SimpleNamespace(pipe=lambda titles: [tagged for _ in titles])

    spacy.load = load_model
    monkeypatch.setitem(sys.modules, "spacy", spacy)


def test_spacy_finds_the_nouns_where_it_is(monkeypatch, tmp_path):
    spacy_with(monkeypatch, "en_core_web_md", "en_core_web_sm")
    assert load(write(tmp_path)).catalogue.products[1].nouns == ("oak", "desk")


def test_spacy_without_a_model_is_not_used(monkeypatch):
    spacy_with(monkeypatch)
    assert list(noun_finder()(["Lamp"])) == [("lamp",)]


def test_attributes_of_other_products_do_not_matter(tmp_path):
    assert ATTRIBUTES["B000000009"] == {"attributes": 7}  # a wrong one, of no product here
    assert load(write(tmp_path)).requests[0].instruction == "Find me easy clean desks"
