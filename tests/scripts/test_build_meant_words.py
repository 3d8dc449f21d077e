"""The script of the words that are not to be taken for misspelled ones."""

import build_meant_words


def test_it_writes_where_the_reader_looks_and_inflects_each_kind_of_word(tmp_path):
    assert build_meant_words.PAGE.is_file()
    for kind, word in (("noun", "shaft"), ("verb", "tow"), ("adj", "fond"), ("adv", "oft")):
        (tmp_path / f"index.{kind}").write_text(f"  licence\n{word} n 1\n")
        (tmp_path / f"{kind}.exc").write_text("mice mouse\n")
    found = set(build_meant_words.english(tmp_path))
    assert found >= {"shaft", "shafts", "tow", "tows", "towing", "towed", "fond", "oft", "mice"}
