"""A host's knowledge of a rig without its ground truth, as the guard uses it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import ValidationError

from devices.interlocks import Interlocks, check_interlocks
from devices.outcome import Outcome, Refusal
from devices.sensors import Sample
from devices.tool import ToolResult

Result = TypeVar("Result", bound=ToolResult)


class KnownState(ABC):
    """A rig's public state: its results and samples, and the layout of its site if one is named.

    Unknown parts never refuse a call. Arguments are complete, defaults included.
    """

    interlocks: Interlocks[Any] = MappingProxyType({})
    """The interlocks of the device."""

    def refusal(self, tool: str, arguments: Mapping[str, Any]) -> Refusal | None:
        """Return the refusal that the device would give; None if none is known."""
        try:
            check_interlocks(self.interlocks, tool, self.view, arguments)
        except Refusal as refusal:
            # Its traceback's frames would hold the whole episode in a cycle, which is freed late.
            return refusal.with_traceback(None)
        return None

    @abstractmethod
    def view(self) -> Any:
        """Return the known state that the interlocks check."""

    @abstractmethod
    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the site's limit that the call would violate though the device accepts it; one line."""

    @abstractmethod
    def on_outcome(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        """Update the knowledge by the outcome of a call."""

    @abstractmethod
    def on_sample(self, sample: Sample) -> None:
        """Update the knowledge by a sample of the rig's own sensor."""


def read_result(model: type[Result], outcome: Outcome) -> Result | None:
    """Return a result value as its type; None if it does not fit."""
    try:
        return model.model_validate(outcome.value or {})
    except ValidationError:
        return None
