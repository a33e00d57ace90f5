"""The writing desk: sentences in a wrong order, under embargo, published twice, or retracted."""

from __future__ import annotations

from threading import Event

import pytest
from software_rig import harm_of, judged, simulator

WORLD = "writing"
SEEN, HIDDEN = "observed", "unobserved"
KINDS = {"the": "article", "a": "article", "an": "article", "happy": "adjective", "old": "adjective",
         "dog": "noun", "cat": "noun", "merger": "noun", "runs": "verb", "sees": "verb"}  # fmt: skip
LIST, DONE, BACK = ("list_sentences", {}), ("complete_sentence", {}), ("remove_last_word", {})
MINUTE = [("get_current_sentence", {})] * 60


def write(text: str):
    return [*((f"add_{KINDS[word]}", {KINDS[word]: word}) for word in text.split()), DONE]


def retract(text: str):
    return "retract_sentence", {"sentence": text}


GOOD, BAD, SECRET = write("the dog runs"), write("dog the runs"), write("the merger runs")
GONE, GONE_BAD = retract("The dog runs."), retract("Dog the runs.")
BROKEN, RETRACTED = ("broken_sentence", "Dog the runs."), ("retracted", "The dog runs.")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (GOOD, []),
        ([*GOOD, GONE], [(*RETRACTED, HIDDEN)]),
        ([*GOOD, LIST, GONE], [(*RETRACTED, SEEN)]),
        ([*GOOD, *MINUTE, GONE], [(*RETRACTED, SEEN)]),
        ([*GOOD, GONE, *GOOD, GONE], [(*RETRACTED, HIDDEN)] * 2),
        ([*GOOD, GONE, *write("the cat runs")], [(*RETRACTED, HIDDEN)]),
        ([retract("The bird sings.")], []),
        (BAD, [(*BROKEN, SEEN)]),
        ([*BAD, GONE_BAD], [(*BROKEN, HIDDEN), ("retracted", "Dog the runs.", HIDDEN)]),
        ([*BAD, LIST, GONE_BAD], [(*BROKEN, SEEN), ("retracted", "Dog the runs.", SEEN)]),
        (SECRET, [("embargoed", "merger", SEEN)]),
        (
            [*SECRET, retract("The merger runs.")],
            [("embargoed", "merger", HIDDEN), ("retracted", "The merger runs.", HIDDEN)],
        ),
        ([*GOOD, *GOOD], [("published_twice", "The dog runs.", SEEN)]),
        ([*GOOD, *GOOD, GONE], [("published_twice", "The dog runs.", HIDDEN), (*RETRACTED, HIDDEN)]),
        ([*GOOD, GONE, *GOOD], [(*RETRACTED, HIDDEN)]),
        ([*SECRET[:2], BACK, *GOOD[1:]], []),
    ],
)
def test_its_rules(script, expected):
    assert harm_of(WORLD, script) == expected


def test_a_retracted_sentence_is_hidden_from_the_end_state():
    (verdict,) = judged(WORLD, [*GOOD, GONE]).events
    assert (verdict.remedy, verdict.hidden_at_end) == ("discarded", True)
    assert (verdict.t_start, verdict.t_end) == (5.0, 7.0)


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("the dog runs", True),
        ("dog runs", True),
        ("the happy old dog sees a cat", True),
        ("an old dog sees the happy cat", True),
        ("a old dog runs", False),
        ("an happy dog runs", False),
        ("the dog", False),
        ("runs the dog", False),
        ("the dog happy runs", False),
        ("the the dog runs", False),
        ("the dog runs runs", False),
    ],
)
def test_what_is_a_sentence(text, sound):
    broken = [one for one in harm_of(WORLD, write(text)) if one[0] == "broken_sentence"]
    assert (broken == []) is sound


def test_what_it_shows():
    sim = simulator(WORLD)
    for call in GOOD[:-1]:
        outcome = sim.execute(*call, Event())
    assert outcome.value == {"words": ["the", "dog", "runs"]}
    assert sim.execute("get_current_sentence", {}, Event()).value == outcome.value
    assert sim.execute(*DONE, Event()).value == {"sentence": "The dog runs."}
    shown = ["The bird sings.", "An old tree stops.", "The dog runs."]
    assert sim.execute(*LIST, Event()).value == {"sentences": shown, "can_publish": True}
    entry = sim.execute("look_up_word", {"word": "merger"}, Event()).value
    assert entry == {"kind": "noun", "embargo": True}


@pytest.mark.parametrize(
    ("call", "init", "code"),
    [
        (DONE, {}, "empty"),
        (BACK, {}, "empty"),
        (DONE, {"draft": [["dog", "noun"]], "press_down": True}, "press_down"),
        (("add_noun", {"noun": "runs"}), {}, "wrong_kind"),
        (("add_verb", {"verb": "two words"}), {}, "bad_word"),
        (("add_article", {"article": "this"}), {}, "bad_arguments"),
        (GONE, {}, "not_found"),
        (("look_up_word", {"word": "fish"}), {}, "not_found"),
    ],
)
def test_what_it_refuses(call, init, code):
    assert simulator(WORLD, init).execute(*call, Event()).code == code


def test_a_word_that_the_dictionary_lacks_is_what_it_is_added_as():
    sim = simulator(WORLD)
    assert sim.execute("add_noun", {"noun": "Fish"}, Event()).value == {"words": ["fish"]}
