"""Episodes as conversations with each scaffold: a system turn, and pieces of text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from agents.formats import react
from agents.formats.calls import CallText
from agents.scaffolds.native import NativeScaffold
from agents.scaffolds.react import OBSERVATION, ReactScaffold
from devices.device_type import DeviceType
from training.chat_format import answer_text, call_text, response_text, user_text
from training.episode import Episode
from training.system_turns import react_system_turn, system_turn

Piece = tuple[str, bool]


@dataclass(frozen=True, slots=True)
class Conversation:
    """How a scaffold puts an episode.

    Attributes:
        scaffold: the scaffold's name.
        system_turn: returns the system turn; with a generator, often in other words.
        pieces: returns the episode after it, in pieces: text, and whether the model writes it.
    """

    scaffold: str
    system_turn: Callable[[DeviceType, Random | None], str]
    pieces: Callable[[Episode], list[Piece]]


def native_pieces(story: Episode) -> list[Piece]:
    """Return the episode in the marks of the model's template."""
    parts = [(user_text(story.prompt), False)]
    for turn in story.turns:
        parts.append((call_text(turn.tool, turn.arguments), turn.learn))
        if turn.result is None:
            return parts
        parts.append((response_text(turn.result), False))
    return [*parts, (answer_text(story.answer), True)]


def react_pieces(story: Episode) -> list[Piece]:
    """Return the episode with thoughts, actions and observations."""
    parts = [(user_text(story.prompt), False)]
    for turn in story.turns:
        action = react.FORMAT.write([CallText(turn.tool, dict(turn.arguments))])
        parts.append((answer_text(f"Thought: {turn.tool} is next.\n{action}"), turn.learn))
        if turn.result is None:
            return parts
        parts.append(("\n" + user_text(f"{OBSERVATION} {turn.result}"), False))
    return [*parts, (answer_text(f"Thought: All is done.\nFinal Answer: {story.answer}"), True)]


NATIVE = Conversation(NativeScaffold.scaffold, system_turn, native_pieces)
REACT = Conversation(ReactScaffold.scaffold, react_system_turn, react_pieces)
