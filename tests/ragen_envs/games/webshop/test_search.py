import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from bm25s import BM25
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragen_envs.core import bm25
from ragen_envs.core.bm25 import build, kept_length
from ragen_envs.core.terms import terms
from ragen_envs.games.webshop import search
from ragen_envs.games.webshop.products import Catalogue
from ragen_envs.games.webshop.search import HITS, Index
from tests.cases import examples

from .shops import catalogue, product

# Words that are their own stems, in titles long enough for lengths that a byte rounds.
WORDS = [f"w{i}" for i in range(8)]
TITLES = st.lists(
    st.dictionaries(st.sampled_from(WORDS), st.integers(1, 40), max_size=4).map(
        lambda counts: " ".join(word for word, times in counts.items() for _ in range(times))
    ),
    max_size=90,
)
QUERIES = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=6).map(" ".join)


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """Keep indices of every size, in a folder of the test's own."""
    monkeypatch.setattr(search, "KEPT_FROM", 0)
    monkeypatch.setenv("RAGEN_CACHE", str(tmp_path))
    return tmp_path / "webshop"


def slow_scores(titles, query):
    """BM25 from the formula, a document and a term at a time."""
    documents = [title.split() for title in titles]
    filled = [document for document in documents if document]
    average = sum(map(len, filled)) / max(len(filled), 1)
    scores = []
    for document in documents:
        score = 0.0
        for word in query.split():
            df = sum(word in other for other in documents)
            tf = document.count(word)
            idf = math.log(1 + (len(filled) - df + 0.5) / (df + 0.5))
            length = kept_length(len(document))
            if tf:
                score += idf * tf / (tf + 0.9 * (1 - 0.4 + 0.4 * length / average))
        scores.append(score)
    return scores


@given(TITLES, QUERIES)
@example(["w1"] * 60 + ["w1 w2"] * 30, "w1 w2")
@settings(deadline=None)
def test_agrees_with_the_formula(titles, query):
    scores = slow_scores(titles, query)
    found = Index(catalogue(*titles)).search(query)
    expected = sorted((i for i, s in enumerate(scores) if s > 0), key=lambda i: (-scores[i], i))
    assert len(found) == min(len(expected), HITS)
    np.testing.assert_allclose(
        [scores[i] for i in found], [scores[i] for i in expected[:HITS]], rtol=1e-6
    )
    for first, second in itertools.pairwise(found):
        close = math.isclose(scores[first], scores[second], rel_tol=1e-6)
        assert (
            scores[first] > scores[second]
            or (close and first < second)
            or (
                close and titles[first] != titles[second]  # four bytes may tell them apart
            )
        )
    same_title = [i for i in expected if titles[i] == titles[expected[0]]]
    assert found[: len(same_title)] == same_title[:HITS]


@given(TITLES)
@settings(deadline=None)
def test_scores_are_those_of_the_formula(titles):
    postings = build(titles)
    for word, term in postings.vocabulary.items():
        scores = postings.scores([(term, 1)])
        np.testing.assert_allclose(scores, slow_scores(titles, word), rtol=1e-6)
        assert np.array_equal(postings.scores([(term, 3)]), 3 * scores)


SHORT = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=39).map(" ".join), min_size=1, max_size=90
)


@given(SHORT, st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))
@settings(deadline=None, max_examples=examples(50))
def test_agrees_with_another_bm25_where_a_byte_holds_the_lengths(titles, query):
    reference = BM25(method="lucene", k1=0.9, b=0.4)
    reference.index([title.split() for title in titles], show_progress=False)
    known = [word for word in query if word in reference.vocab_dict]
    scores = reference.get_scores(known) if known else np.zeros(len(titles))
    postings = build(titles)
    ours = postings.scores((postings.vocabulary[word], 1) for word in known)
    np.testing.assert_allclose(ours, scores, rtol=1e-5)
    found = Index(catalogue(*titles)).search(" ".join(query))
    ordered = np.argsort(-scores, kind="stable")[: min(HITS, np.count_nonzero(scores))]
    np.testing.assert_allclose(scores[found], scores[ordered], rtol=1e-5)
    apart = [i for i in range(len(ordered)) if np.isclose(scores, scores[ordered[i]]).sum() == 1]
    assert [found[i] for i in apart] == ordered[apart].tolist()


@given(TITLES.filter(any), st.data())
@settings(deadline=None, max_examples=examples(50))
def test_sums_are_to_the_bit_those_of_another_bm25_on_the_same_lists(titles, data):
    postings = build(titles)
    reference = BM25(method="lucene")
    reference.nonoccurrence_array = None
    reference.scores = {
        "data": postings.parts,
        "indices": postings.documents,
        "indptr": postings.starts,
        "num_docs": len(titles),
    }
    said = data.draw(st.lists(st.sampled_from(range(len(postings.vocabulary))), unique=True))
    got = postings.scores([(term, 1) for term in said])
    assert got.dtype == np.float32
    assert np.array_equal(got, reference.get_scores_from_ids(said))


@given(TITLES, QUERIES.filter(bool), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=30)
def test_neither_case_nor_order_nor_the_rest_of_a_query_matters(titles, query, random):
    index = Index(catalogue(*titles))
    words = query.split()
    random.shuffle(words)
    expected = index.search(query)
    assert index.search(f"<p>the {', '.join(words).upper()}\x00\x1b!</p>") == expected


def test_equal_products_go_by_asin_where_the_catalogue_says_so():
    asins = [f"B{17 * i % 101:03}" for i in range(101)]
    products = tuple(product("lamp", asin=asin) for asin in asins)
    by_asin = Index(Catalogue(products, "test", ties_by_asin=True)).search("lamp")
    assert [asins[i] for i in by_asin] == sorted(asins)[:HITS]
    assert Index(Catalogue(products, "test")).search("lamp") == list(range(HITS))


def test_everything_of_the_document_is_searched_and_no_more():
    shop = catalogue("", "")
    found = product(
        "title",
        description="described",
        bullets=("first", "second"),
        options=(("colour", ("navy blue",)),),
        query="asked",
        attributes=("attributed",),
        breadcrumbs=("crumb",),
    )
    index = Index(type(shop)((shop.products[0], found), "test"))
    for word in ("title", "described", "first", "colour", "navy", "titles"):
        assert index.search(word) == [1]
    for word in ("second", "asked", "attributed", "crumb", "B000000001"):
        assert index.search(word) == []


def test_long_queries_and_what_is_no_word():
    index = Index(catalogue("red shoe", "blue shoe", "red red hat"))
    for words in ("", " ", "\x00\x1b[0m", "<r>", "!" * 10_000, "\ud800", "the of", "green"):
        assert index.search(words) == []
    assert index.search("shoe blue " * 1000) == [1, 0]
    assert index.search("x" * 10_000) == []
    assert index.search("\x00blue\x00" + "zz " * 3300) == [1]


def test_repeated_words_weigh_more():
    index = Index(catalogue("red", "blue", "red blue"))
    assert index.search("red red blue") == [2, 0, 1]
    assert index.search("red blue blue") == [2, 1, 0]


def test_terms_beyond_the_most_that_lucene_takes_are_passed_over(monkeypatch):
    monkeypatch.setattr(bm25, "QUERY_TERMS", 2)
    assert Index(catalogue("w1", "w2", "w3")).search("w1 w1 w2 w3 w1") == [0, 1]


def test_shops_without_words_find_nothing(kept):
    for titles in ((), ("",), ("the", "")):
        assert Index(catalogue(*titles)).search("shoe") == []


def test_a_kept_index_finds_the_same(kept, monkeypatch, capfd):
    titles = [f"w{i % 7} w{i % 5} w{i % 3}" for i in range(200)]
    shop = catalogue(*titles)
    first = Index(shop)
    monkeypatch.setattr(search, "build", None)  # the second time nothing is built
    second = Index(shop)
    assert len(list(kept.iterdir())) == 1
    assert {path.name for path in next(kept.iterdir()).iterdir()} == {
        "starts.npy", "documents.npy", "parts.npy", "vocabulary.json",
    }  # fmt: skip
    for array in (second._postings.documents, second._postings.parts):
        assert isinstance(array, np.memmap)
        assert not array.flags.writeable
    monkeypatch.undo()
    fresh = Index(shop)
    for query in ("w1 w2", "w6", "w0 w4 w4"):
        assert first.search(query) == second.search(query) == fresh.search(query) != []
    assert capfd.readouterr() == ("", "")


def test_another_catalogue_has_an_index_of_its_own(kept):
    assert Index(catalogue("red", "blue")).search("red") == [0]
    assert Index(catalogue("blue", "red")).search("red") == [1]
    assert Index(catalogue("bluered", "")).search("red") == []
    assert len(list(kept.iterdir())) == 3


def test_processes_that_start_together_share_one(kept, tmp_path):
    code = (
        "from ragen_envs.games.webshop import search\n"
        "from tests.ragen_envs.games.webshop.shops import catalogue\n"
        "search.KEPT_FROM = 0\n"
        "shop = catalogue(*(f'w{i % 7} w{i % 5}' for i in range(3000)))\n"
        "print(search.Index(shop).search('w3 w4'))\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)
    ]
    found = [run.communicate()[0] for run in runs]
    assert found[0] == found[1] != b""
    assert len(list(kept.iterdir())) == 1


def test_a_folder_that_cannot_be_written_is_named(kept, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RAGEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(ValueError, match=r"file/webshop .*RAGEN_CACHE") as error:
        Index(catalogue("red"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("file", ["parts.npy", "vocabulary.json"])
@pytest.mark.parametrize("damage", ["gone", "short", "other"])
def test_a_damaged_index_is_named(kept, file, damage):
    Index(catalogue("red", "blue"))
    [folder] = kept.iterdir()
    path = folder / file
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-3] if damage == "short" else b"[]")
    with pytest.raises(ValueError, match=r"is damaged .*: remove that folder") as error:
        Index(catalogue("red", "blue"))
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_kept_index_holds_any_word(kept):
    titles = [
        "naïve café",
        "数 学",
        "a\u2028b c\x85d e\tf",
        "x\u00adz \U0001d400",
        "\ufeffbom \ud800 end",
    ]
    words = " ".join(titles)
    Index(catalogue(*titles))
    again = Index(catalogue(*titles))
    expected = dict.fromkeys(term for title in titles for term in terms(title))
    assert list(again._postings.vocabulary) == list(expected)
    assert sorted(again.search(words)) == list(range(5))
