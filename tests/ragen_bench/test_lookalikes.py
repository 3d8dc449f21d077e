# ruff: noqa: RUF001
"""Names that are taken for others, and names in many scripts that are not."""

import string
import unicodedata

import pytest

from ragen_bench import lookalikes
from ragen_bench.lookalikes import find_lookalike

FALSE = {
    "Sm\u0251rt": "U+0251",
    "GPT\u20105": "U+2010; write - instead",
    **{f"GPT{dash}5": "; write - instead" for dash in "\u2011\u2012\u2013\u2014\u2015\u2212\u2043"},
    "G\u2024P": "U+2024; write . instead",
    "\uff27\uff30\uff34": "write G instead",
    "GPT\uff0d5": "write - instead",
    "Claude\uff0e": "write . instead",
    "GPT\u30fc5": "U+30FC; write - instead",
    "GPT\u4e005": "U+4E00; write - instead",
    "m\u0131stral": "U+0131",
    "\u0262\u1d18\u1d1b": "U+0262",
    "\u0261rok": "U+0261",
    "Sm\u03b1rt": "U+03B1; write a instead",
    "Llam\u0430": "U+0430; write a instead",
    "GPT\u2019s": "U+2019; write ' instead",
    "\u201cBest\u201d": 'U+201C; write " instead',
    "8\u00d77B": "U+00D7; write x instead",
    "GPT\u2044Claude": "write / instead",
    "G\u0661": "U+0661; write l instead",
    "\u0665\u0661": "write o instead",
    "caf" + "e\u0301": "NFC",
    "l\u0335lama": "U+0335",
    "GPT\U000e0101": "invisible",
    "GPT\u034f": "invisible",
    "GPT\U000f0000": "invisible",
    "\u01c0lama": "U+01C0",
    "\u05d5\u05d5": "U+05D5; write l instead",
    "Qwen\u3007": "U+3007; write O instead",
}
TRUE = [
    "Müller & Søn", "Łukasz Żółć", "Ægir Œuvre Þór", "Weiß", "Đặng Ơ Ư", "Ọ\u0300ṣun",
    "Модель7B", "Модель-7", "Яндекс", "Σοφία", "μTransfer-α", "ε-greedy", "π0.5",
    "サーバーLLM", "ノートLLM 7B", "零一万物", "二〇二五", "通义千问2.5", "한국어 모델",
    "ロボ 日本", "मॉडल", "نموذج ١", "דגם", "Qwen²™ ½", "a·b", "★ model", "🤖",
]  # fmt: skip


@pytest.mark.parametrize(("name", "says"), FALSE.items(), ids=map(ascii, FALSE))
def test_a_name_that_is_taken_for_another_is_refused(name, says):
    assert says in find_lookalike(name)


@pytest.mark.parametrize("name", TRUE)
def test_a_name_in_its_own_script_is_taken(name):
    assert find_lookalike(name) == ""


@pytest.mark.parametrize("base", string.ascii_letters + string.digits + ".-'\"/:,!?()+*=")
def test_every_lookalike_of_a_character_is_refused_in_a_latin_name(base):
    """For each character of ASCII, all that the table and NFKC make of others."""
    alike = [each for each, like in lookalikes._table().items() if like == base]
    compatible = [
        chr(point)
        for point in range(128, 0x1F200)
        if unicodedata.normalize("NFKC", chr(point)) == base
        and unicodedata.category(chr(point))[0] in "LPS"
    ]
    for each in [*alike, *compatible]:
        assert find_lookalike(f"ab{each}cd"), ascii(each)
        if each not in lookalikes._SMALL_GREEK:
            assert find_lookalike(each), ascii(each)
            assert find_lookalike(f"GPT{each}"), ascii(each)


def test_the_table_has_each_character_once_and_none_that_a_rule_covers():
    table = lookalikes.read_toml(lookalikes.Path(lookalikes.__file__).with_name("lookalikes.toml"))
    everything = "".join(table.values())
    assert len(everything) == len(set(everything)) > 500
    assert all(len(like) == 1 and like.isascii() for like in table)
    assert not any(map(str.isascii, everything))
