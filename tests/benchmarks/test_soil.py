"""The farm's soil against a textbook's worked examples."""

import pytest

from benchmarks.soil import examples


@pytest.mark.parametrize(("words", "kit", "book", "digit"), examples())
def test_the_soil_gives_the_results_of_the_textbooks_examples(words, kit, book, digit):
    assert kit == pytest.approx(book, abs=digit), words
