import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.games.countdown.expressions import LONGEST, expression_of, plain
from tests.ragen_envs.games.countdown import reference


def written(inner):
    """Return larger expressions as text, with needless parentheses and odd blanks too."""
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map("".join),
        st.tuples(inner, st.sampled_from([" + ", " -", "* ", "/ "]), inner).map("".join),
        inner.map("({})".format),
        inner.map("( {} )".format),
    )


EXPRESSIONS = st.recursive(st.integers(0, 120).map(str), written, max_leaves=9).filter(
    lambda text: len(text) <= LONGEST
)


@given(EXPRESSIONS)
def test_values_are_those_of_python_with_exact_fractions(text):
    found = expression_of(text)
    assert found.value == reference.worked_out(text)
    assert "".join(found.text.split()) == "".join(text.split())
    assert len(found.text) > LONGEST or expression_of(found.text) == found
    assert list(map(str, found.numbers)) == "".join(c if c.isdigit() else " " for c in text).split()


@pytest.mark.parametrize(
    ("text", "value", "spelled"),
    [
        ("8/(3-8/3)", 24, "8 / (3 - 8 / 3)"),
        (" 2+3*4 ", 14, "2 + 3 * 4"),
        ("2-3-4", -5, "2 - 3 - 4"),
        ("64/8/2", 4, "64 / 8 / 2"),
        ("(25\u22123)\u00d74\u00f72\u00b73 = 132", 132, "(25 - 3) * 4 / 2 * 3"),
        ("7 = 8 = 9", 7, "7"),
        ("((7))", 7, "((7))"),
        ("5/(3-3)", None, "5 / (3 - 3)"),
        ("0*(1/0)", None, "0 * (1 / 0)"),
    ],
)
def test_what_expressions_say(text, value, spelled):
    found = expression_of(plain(text))
    assert (found.value, found.text) == (value, spelled)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "=", "= 24", "EXPRESSION", "x", "3 x 4", "2^3", "2**3", "5//2", "1.5", "1e3"),
        *(
            "-3",
            "+3",
            "3 + -4",
            "3 +",
            "* 3",
            "3 4",
            "1 2",
            "3(4)",
            "(3)(4)",
            "(3)4",
            "()",
            "(",
            ")",
        ),
        *(
            "(3 + 4",
            "3 + 4)",
            ")3(",
            "3 + 4 || 5",
            "3, 4",
            "12345",
            "\u0663 + 4",
            "\u00b2",
            "3\x004",
        ),
        *(
            "a" * 10**6,
            "(" * 10**6,
            "1+" * 10**6,
            "9" * 10**6,
            " " * 10**6,
            "(" * 101 + "1" + ")" * 101,
        ),
        *("__import__('os')", "lambda: 1", "abs(3)", "\ud800", "3 + 4\u200b"),
    ],
)
def test_what_is_no_expression(text):
    assert expression_of(text) is None
    assert len(text) > LONGEST or expression_of(plain(text)) is None


@given(st.one_of(st.text(), st.text("0123456789+-*/() =", max_size=120)))
def test_any_text_is_read(text):
    found = expression_of(text)
    if found is not None:
        assert found.value == reference.worked_out(found.text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  3 \n\t* 4 ", "3 * 4"),
        ("3\u00d74\u22126\u00f72\u00b71", "3*4-6/2*1"),
        ("3\u00b2 + \u0663\x00\ud800", "3? + ???"),
        ("9" * 10**6, "9" * 100),
        ("9" * 99 + " 9", "9" * 99),
    ],
)
def test_what_counts_of_a_text(text, line):
    assert plain(text) == line == plain(line)


def test_nesting_and_length_are_bounded_by_characters_alone():
    deepest = "(" * 49 + "12" + ")" * 49
    assert len(deepest) == LONGEST
    assert expression_of(deepest).value == 12
    assert expression_of(f"({deepest})") is None
    assert expression_of(plain(f"({deepest})")) is None  # the last one is cut off
    assert len(expression_of("1+" * 49 + "11").text) == 2 * LONGEST - 2
