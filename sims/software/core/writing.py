"""A sentence that is put together word by word."""

from __future__ import annotations

from random import Random
from typing import Annotated

from pydantic import Field, JsonValue

from core_eval.text.streams import STREAMS, stream
from sims.software.core.base import CoreState, CoreWorld, core_world, write

Word = Annotated[str, Field(description="the word; left out: one is drawn")]


class Draft(CoreState):
    """The sentence so far, and the words that are drawn from."""

    sentence: list[str] = Field(default=[])
    pools: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        default={
            "article": ["a", "the"],
            "noun": ["bird", "child", "garden", "river", "window"],
            "verb": ["finds", "follows", "leaves", "likes", "sees"],
            "adjective": ["bright", "calm", "old", "quick", "small"],
            "preposition": ["behind", "in", "near", "over", "under"],
        }
    )


class Writing(CoreWorld[Draft]):
    """A desk where sentences are written."""

    name = "core:writing"

    def add(self, kind: str, word: str) -> JsonValue:
        """Add the word, or one of its class, drawn by seed and place; tell it."""
        drawn = Random(stream(STREAMS, self.seed, kind, str(len(self.state.sentence))))
        word = word or drawn.choice(self.found(self.state.pools, kind, "pool of words"))
        self.state.sentence.append(word)
        return word

    @write()
    def add_article(self, article: Word = "") -> JsonValue:
        """Add an article to the sentence; tell it."""
        return self.add("article", article)

    @write()
    def add_noun(self, noun: Word = "") -> JsonValue:
        """Add a noun to the sentence; tell it."""
        return self.add("noun", noun)

    @write()
    def add_verb(self, verb: Word = "") -> JsonValue:
        """Add a verb to the sentence; tell it."""
        return self.add("verb", verb)

    @write()
    def add_adjective(self, adjective: Word = "") -> JsonValue:
        """Add an adjective to the sentence; tell it."""
        return self.add("adjective", adjective)

    @write()
    def add_preposition(self, preposition: Word = "") -> JsonValue:
        """Add a preposition to the sentence; tell it."""
        return self.add("preposition", preposition)

    @write()
    def complete_sentence(self) -> JsonValue:
        """Tell the sentence, and begin a new one."""
        text, self.state.sentence = " ".join(self.state.sentence), []
        return f"{text[:1].upper()}{text[1:]}."


WORLD = core_world(Writing, Draft)
