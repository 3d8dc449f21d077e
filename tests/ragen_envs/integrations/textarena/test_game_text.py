from pathlib import Path

import textarena
from hypothesis import given
from hypothesis import strategies as st
from textarena import ObservationType
from textarena.envs.registration import ENV_REGISTRY

from ragen_envs.integrations.textarena.game import (
    CHARSET,
    MAX_OBSERVATION,
    fit_to_space,
    observation_space,
    write_transcript,
)

SPACE = observation_space()


def test_the_space_holds_every_character_of_textarenas_games():
    root = Path(textarena.__file__).parent
    modules = {str(spec.entry_point).partition(":")[0] for spec in ENV_REGISTRY.values()}
    folders = {root.joinpath(*m.split(".")[1:-1]) for m in modules if m.startswith("textarena.")}
    assert len(folders) > 80
    kinds = ("*.py", "*.json", "*.jsonl", "*.txt")
    files = {file for folder in folders for kind in kinds for file in folder.rglob(kind)}
    ascii_characters = "".join(filter(str.isascii, CHARSET)).encode()
    for file in files:
        if not file.name.startswith("test"):
            # Word lists of megabytes: of UTF-8, characters of ASCII are their own bytes.
            rest = file.read_bytes().translate(None, ascii_characters).decode()
            assert CHARSET.issuperset(rest), file


@given(st.text(), st.integers(1, 20_000))
def test_what_fits_is_in_the_space_and_stays_as_it_is(text, times):
    long = (text * times)[: 3 * MAX_OBSERVATION]
    fitted = fit_to_space(long)
    assert fitted in SPACE
    assert fit_to_space(fitted) == fitted
    if len(long) <= MAX_OBSERVATION:
        assert len(fitted) == len(long)
        assert all(
            a == (b if b in CHARSET else "\ufffd") for a, b in zip(fitted, long, strict=True)
        )


def test_of_a_long_text_the_middle_is_left_out():
    fitted = fit_to_space("a" * MAX_OBSERVATION + "b" * MAX_OBSERVATION)
    before, after = fitted.split("\n[...]\n")
    assert (set(before), set(after)) == ({"a"}, {"b"})
    assert MAX_OBSERVATION - 2 < len(fitted) <= MAX_OBSERVATION


def test_a_transcript_names_who_speaks_and_leaves_out_what_the_reader_said():
    said, told = ObservationType.PLAYER_ACTION, ObservationType.GAME_MESSAGE
    messages = [(-1, "rules", told), (0, "mine", said), (1, "yours", said), (7, "x", told)]
    assert (
        write_transcript(messages, 0, {0: "A", 1: "B"}) == "[GAME] rules\n[B] yours\n[Player 7] x"
    )
