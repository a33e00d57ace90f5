"""The longest shared run of words is that of a search over all places, in linear time."""

from difflib import SequenceMatcher
from random import Random

from core_eval.text.word_runs import WordRuns


def test_the_longest_run_is_that_of_a_search_over_all_places() -> None:
    chance = Random(0)
    for most in range(1, 300):
        mine, others = (chance.choices("abc"[: 1 + most % 3], k=chance.randrange(20)) for _ in range(2))
        place, size = WordRuns(mine).longest(others)
        found = SequenceMatcher(None, mine, others, autojunk=False).find_longest_match()
        assert size == found.size
        if size:
            assert place == found.a


def test_words_that_repeat_take_no_longer() -> None:
    runs = WordRuns(["no"] * 2500)
    assert len(runs._after) == 2501
    assert runs.longest(iter(["no"] * 20_000)) == (0, 2500)
