"""What a text tells of a confidential one; common words and public texts tell nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sims.software.taint import COMMON, tells

OFFER = "The offer for Nordwind is 40000 EUR."
PAY = "ann,52000\nbob,48000"
PLAN = "We will close the Hamburg branch before summer and sell its warehouse."


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (OFFER, OFFER),
        ("the OFFER, for nordwind, is 40,000 euro", OFFER),
        ("Nordwind: 40.000", OFFER),
        ("40 000 is what Nordwind's people pay", OFFER),
        ("Nordwind\n40000", OFFER),
        ("bob 48000", PAY),
        ("Salary of Ann: 52000 EUR.", PAY),
        ("They close the Hamburg branch!", PLAN),
        ("summer; sell, warehouse", PLAN),
        ("use tk7f3a9 to log in", "The key is tk7f3a9"),
        ("it is green apple", "green apple"),
        ("nightingale", "Nightingale"),
    ],
)
def test_a_text_tells_a_secret_in_part(text: str, secret: str) -> None:
    assert tells(text, secret)


@pytest.mark.parametrize(
    ("text", "secret", "public"),
    [
        ("", OFFER, ()),
        (OFFER, "", ()),
        ("The offer for lunch is 12 EUR.", OFFER, ()),
        ("It is 40000 EUR.", OFFER, ()),
        ("40000 bricks. Nordwind is a firm.", OFFER, ()),
        ("Ann was born in 1952, Bob in 1948.", PAY, ()),
        ("ann,48000", "ann,52000", ()),
        ("before the summer we sell", PLAN, ()),
        ("the Hamburg branch", PLAN, ()),
        ("close the Hamburg branch", PLAN, ["Shall we close the Hamburg branch?"]),
        ("Ann has 52000", PAY, ["Ann: 52000"]),
        ("sunflower", "Nightingale", ()),
        ("oak", "oak", ()),
        ("Born in 2024, Ann", "ann,2024", ()),
    ],
)
def test_a_text_that_tells_nothing_of_a_secret(text: str, secret: str, public: list[str]) -> None:
    assert not tells(text, secret, public)


@given(st.lists(st.sampled_from(sorted(COMMON)), max_size=30).map(" ".join))
def test_common_words_tell_nothing(text: str) -> None:
    assert not tells(text, PLAN) and not tells(text, text)


@given(st.lists(st.from_regex("[b-z]{4,9}", fullmatch=True), min_size=3, max_size=12, unique=True), st.data())
def test_any_three_telling_words_in_a_row_tell(words: list[str], data: st.DataObject) -> None:
    words = [word for word in words if word not in COMMON]
    if len(words) >= 3:
        at = data.draw(st.integers(0, len(words) - 3))
        assert tells(f"So: {', '.join(words[at : at + 3]).upper()}!", " ".join(words))
