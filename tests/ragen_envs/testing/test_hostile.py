"""The slips in reading an answer that the hostile texts must bring to light."""

import math
import re

import pytest
from gymnasium.spaces import Text

from ragen_envs.testing import HOSTILE, CheckFailed, check_hostile_text
from tests.ragen_envs.testing.lamps import SIDES, LampEnv, subject_of

SHORT = [text for text in HOSTILE.values() if len(text) <= 6000]


def inside(form):
    def text_in(answer):
        found = re.search(form, answer, re.DOTALL)
        return found[1].strip() if found else "?"

    return text_in


FORMS = {
    "bare": str.strip,
    "answer": inside("<answer>(.*?)</answer>"),
    "all of it": inside("^<answer>([^<]*)</answer>$"),
    "think": inside("^<think>.*</think>\\s*<answer>(.*)</answer>$"),
    "brackets": inside(r"\[(.*?)\]"),
    "box": inside(r"\\boxed\{(.*?)\}"),
}


def if_digits(text):
    return int(text) if text.isdigit() else None


def if_decimal(text):
    return int(text) if text.isdecimal() else None


def if_matched(text):
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else None


def if_digits_after_minus(text):
    digits = text.lstrip("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(text) < 20 else None


def by_number(text):
    return SIDES[int(text)] if re.fullmatch("[0-9]{1,4}", text) else None


def if_float(text):
    try:
        return int(float(text))
    except OverflowError:
        return None


def if_float_is_finite(text):
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else int(number)


def first_word(text):
    return text.split()[0]


READERS = (
    if_digits,
    if_decimal,
    if_matched,
    if_digits_after_minus,
    by_number,
    if_float,
    if_float_is_finite,
    first_word,
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("read", READERS)
def test_a_slip_is_found_in_each_form(read, form):
    assert any(raises(read, FORMS[form](text)) for text in SHORT)


def raises(read, text):
    try:
        read(text)
    except (ValueError, LookupError, OverflowError):
        return True
    return False


def if_numeric(text):
    return float(text) if text.isnumeric() else None


def if_number_with_a_point(text):
    return int(text) if text.isascii() and re.fullmatch("[0-9.]{1,9}", text) else None


def if_signed(text):
    return int(text) if text and text[0] in "+-0123456789" and len(text) < 20 else None


def worked_out(text):
    left, stroke, right = text.partition("/")
    return int(left) / int(right) if stroke and left.isdigit() and right.isdigit() else None


def pair(text):
    row, column = text.split(",") if "," in text and len(text) < 20 else (0, 0)
    return row, column


def pair_of_ints(text):
    return [int(part) for part in text.split(",")] if re.fullmatch("[0-9,]{2,9}", text) else None


@pytest.mark.parametrize(
    "read",
    [if_numeric, if_number_with_a_point, if_signed, worked_out, pair, pair_of_ints],
)
def test_a_slip_is_found_in_bare_answers(read):
    def raised(text):
        try:
            read(text.strip())
        except (ValueError, ZeroDivisionError):
            return True
        return False

    assert any(raised(text) for text in SHORT)


class Letters(LampEnv):
    """Raises at what its own action space samples, and at nothing else."""

    def __init__(self):
        super().__init__()
        self.action_space = Text(9, min_length=9, charset="xyz")

    def play(self, answer):
        if len(answer) == 9 and set(answer) <= {*"xyz"}:
            raise KeyError(answer)
        return super().play(answer)


def test_what_the_action_space_samples_is_answered_too():
    with pytest.raises(CheckFailed, match="the answer 'a sample of action_space': seed 0, turn 1"):
        check_hostile_text(subject_of(Letters))


def test_the_check_finds_the_slip_of_a_number_game():
    class ReadsANumber(LampEnv):
        def play(self, answer):
            if_digits(answer.strip())
            return super().play(answer)

    with pytest.raises(CheckFailed, match=r"the answer 'superscript digit': seed 0, turn 1: step"):
        check_hostile_text(subject_of(ReadsANumber))
