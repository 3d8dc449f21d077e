"""Prices from a file, and what tokens cost by them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.scores.cost import Price, Prices, compute_cost, load_prices

GOOD = """
currency = "EUR"

[[price]]
models = ["openai/my-model", "openai/my-model-*"]
prompt = 1.5
completion = 4

[[price]]
models = ["openai/*"]
prompt = 0.25
completion = 0.5
"""
TOKENS = st.integers(0, 10**9)
AMOUNTS = st.decimals(0, 1000, places=4).map(float)


@pytest.fixture
def written(tmp_path):
    def write(text):
        file = tmp_path / "mine.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


@given(TOKENS, TOKENS, AMOUNTS, AMOUNTS)
def test_cost_is_the_exact_sum(prompt_tokens, completion_tokens, prompt, completion):
    prices = Prices("EUR", (Price(("*",), prompt, completion),))
    found = compute_cost("any", prompt_tokens, completion_tokens, prices)
    exact = prompt_tokens * Fraction(prompt) + completion_tokens * Fraction(completion)
    assert found == pytest.approx(float(exact / 10**6), rel=1e-12)


@pytest.mark.parametrize(
    ("model", "amount"),
    [
        ("openai/my-model", 1.5 + 8),
        ("openai/my-model-2", 1.5 + 8),
        ("openai/My-model", 0.25 + 1),
        ("openai/other", 0.25 + 1),
    ],
)
def test_the_first_price_that_fits_counts(written, model, amount):
    prices = load_prices(written(GOOD))
    assert compute_cost(model, 1_000_000, 2_000_000, prices) == pytest.approx(amount)


@pytest.mark.parametrize("model", ["random", "my-model", "xopenai/my-model"])
def test_an_unknown_model_has_no_known_cost(written, model):
    assert compute_cost(model, 0, 0, load_prices(written(GOOD))) is None


def test_the_shipped_prices_know_what_runs_here_and_nothing_else():
    prices = load_prices()
    known = ("random", "oracle", "smollm2-135m", "demo-agent", "hf/a/b", "vllm/x", "gguf/x.gguf")
    for model in known:
        assert compute_cost(model, 10**6, 10**6, prices) == 0.0
    for model in ("openai/x", "python:agent:answer"):
        assert compute_cost(model, 10**6, 10**6, prices) is None


def test_the_variable_names_a_file_and_an_argument_beats_it(written, monkeypatch, tmp_path):
    monkeypatch.setenv("RAGEN_PRICES", str(written(GOOD)))
    assert load_prices().currency == "EUR"
    other = tmp_path / "other.toml"
    other.write_text('currency = "CHF"\nprice = []\n')
    assert load_prices(other) == Prices("CHF", ())


def test_the_dearest_price_is_taken_and_nothing_above(written):
    dearest = 1_000_000_000
    prices = load_prices(written(GOOD.replace("completion = 4", f"completion = {dearest}")))
    assert prices.prices[0].completion == dearest
    with pytest.raises(
        UserError, match="completion is between 0 and 1,000,000,000, not 1000000001"
    ):
        load_prices(written(GOOD.replace("completion = 4", f"completion = {dearest + 1}")))


def test_an_empty_variable_is_not_the_default(monkeypatch):
    monkeypatch.setenv("RAGEN_PRICES", "")
    with pytest.raises(UserError, match="RAGEN_PRICES is empty"):
        load_prices()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("prompt = 1.5", "prompt = -1.5", r"price 1: prompt is between 0 and .*, not -1.5"),
        ("completion = 0.5", "completion = nan", r"price 2: completion is between 0 .* not nan"),
        ("completion = 4", "completion = inf", r"price 1: completion is between 0 .* not inf"),
        ("completion = 4", f"completion = 1{'0' * 400}", r"price 1: completion is between 0"),
        ("prompt = 0.25", "prompt = true", "price 2: prompt is a number, not True"),
        ("prompt = 0.25", 'prompt = "0.25"', "price 2: prompt is a number, not '0.25'"),
        ("prompt = 0.25", "", "price 2: prompt is missing; the keys are models, prompt, comp"),
        ("prompt = 0.25", "prompt = 1\npromt = 1", "price 2: 'promt' is unknown; the keys are"),
        ('["openai/*"]', '"openai/*"', r"price 2: models is a list of names or patterns, not 'o"),
        ('["openai/*"]', "[]", r"price 2: models is a list"),
        ('["openai/*"]', '[""]', r"price 2: models is a list"),
        ('["openai/*"]', "[3]", r"price 2: models is a list"),
        ('currency = "EUR"', "", "currency is missing"),
        ('currency = "EUR"', "currency = 3", "currency is a text such as 'USD', not 3"),
        ('currency = "EUR"', 'currency = " "', "currency is a text"),
        ('currency = "EUR"', 'currency = "EUR"\nrate = 1', "'rate' is unknown; the keys are curr"),
        ('currency = "EUR"', "currency = EUR", "is not a TOML file: .*line 2"),
    ],
)
def test_a_mistake_names_the_file_and_the_key(written, old, new, says):
    assert old in GOOD
    file = written(GOOD.replace(old, new))
    with pytest.raises(UserError, match=says) as raised:
        load_prices(file)
    assert str(raised.value).removeprefix("the prices ").startswith(str(file))
    assert "\n" not in str(raised.value)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('currency = "EUR"\n[price]\nprompt = 1\n', r"write \[\[price\]\], not \[price\]"),
        ('currency = "EUR"\nprice = [1]\n', "price 1: it is a table, not 1"),
        ('currency = "EUR"\n', "price is missing"),
        (b"\xff\xfe", "is not a text in UTF-8"),
        ("a = " + "[" * 5000, "nested more than 64 deep"),
    ],
)
def test_what_is_no_file_of_prices(written, content, says):
    with pytest.raises(UserError, match=says):
        load_prices(written(content))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="nowhere cannot be read: No such file"):
        load_prices(tmp_path / "nowhere")
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        load_prices(tmp_path)
