"""Compare a server's count of prompt tokens with the prompt: some cut long prompts without an error."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FEWEST_BYTES_A_TOKEN = 2.5
"""Characters of a token, for an upper estimate: JSON with numbers has about three."""
MOST_BYTES_A_TOKEN = 6.0
"""Characters of a token, for a lower bound: prose has less than five."""


class PromptCount:
    """The content of an episode's requests, and the tokens that the server counted in them."""

    def __init__(self) -> None:
        self._bytes = self._counted = 0
        self._text_bytes = 0.0

    def estimate(self, messages: Sequence[Mapping[str, Any]], schemas: Sequence[Mapping[str, Any]]) -> int:
        """Return an upper estimate of a prompt's tokens."""
        more = _bytes([*messages, *schemas]) - self._bytes
        return self._counted + max(0, math.ceil(more / FEWEST_BYTES_A_TOKEN))

    def check(
        self, messages: Sequence[Mapping[str, Any]], schemas: Sequence[Mapping[str, Any]], counted: int
    ) -> str | None:
        """Return why the server's count of a prompt is implausible, in one line; None if it is plausible.

        A prompt has at least the tokens of its texts, whatever the template, and of the prompt before it.
        """
        texts = sum(len(text.encode()) for text in _texts([*messages, *schemas]))
        least = texts / MOST_BYTES_A_TOKEN
        if self._counted:
            least = max(least, self._counted + (texts - self._text_bytes) / MOST_BYTES_A_TOKEN)
        if not counted:
            return None
        self._bytes, self._text_bytes, self._counted = _bytes([*messages, *schemas]), texts, counted
        if counted >= math.floor(least):
            return None
        return (
            f"the server counts {counted} prompt tokens where at least {math.floor(least)} were sent: "
            "it cuts the prompt, so the model does not see all of it"
        )


def _bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts that each template shows: contents, and the names and descriptions of tools."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in ("content", "name", "description") and isinstance(item, str):
                yield item
            elif key == "properties" and isinstance(item, Mapping):
                yield from item
                yield from _texts(list(item.values()))
            elif key not in ("tool_calls", "reasoning_content", "reasoning"):
                yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
