"""Close a thought that has used its budget of tokens."""

from __future__ import annotations

from agents.backends.llama_vocabulary import Vocabulary
from agents.formats.known_marks import USUAL, known_marks
from agents.formats.thoughts import rest_start


class ThoughtBudget:
    """Monitors one answer; thoughts can be closed whose marks a syntax gives."""

    def __init__(self, vocabulary: Vocabulary, tokens: int, *, opened_with: str | None) -> None:
        """Monitor an answer whose thoughts may take that many tokens.

        `opened_with` is the mark with which the prompt opened a thought; None if it did not.
        """
        self._vocabulary, self._tokens = vocabulary, tokens
        self._mark = opened_with
        self._opened = opened_with is not None
        self._thought = 0

    def wrote(self, data: bytes) -> list[int]:
        """Return the tokens that close the thought, when it is time; asked after each token."""
        text = data.decode(errors="replace")
        if rest_start(text, opened=self._opened) is not None:
            return []
        self._thought += bool(data)
        if self._thought < self._tokens:
            return []
        marks = [match.group() for match in known_marks().open.finditer(text)]
        close = known_marks().pairs.get(marks[-1] if marks else self._mark or USUAL[0])
        return [] if close is None else self._vocabulary.tokenize(f"\n{close}\n\n")
