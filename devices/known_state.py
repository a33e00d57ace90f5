"""What a host may know of a rig without its ground truth, and what a guard asks of that knowledge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import ValidationError

from devices.interlocks import Interlocks, look
from devices.outcome import Outcome, Refusal
from devices.sensors import Sample
from devices.tool import ToolResult

Result = TypeVar("Result", bound=ToolResult)


class KnownState(ABC):
    """A rig's public state: what its results and samples tell, and the layout of its site where one is named.

    What is not known never holds a call back. Arguments are complete: defaults that a model left out are in
    them.
    """

    interlocks: Interlocks[Any] = MappingProxyType({})
    """Those of the device itself."""

    def refusal(self, tool: str, arguments: Mapping[str, Any]) -> Refusal | None:
        """The refusal that the device would give, as far as is known; None where it is not known to."""
        try:
            look(self.interlocks, tool, self.view, arguments)
        except Refusal as refusal:
            return refusal
        return None

    @abstractmethod
    def view(self) -> Any:
        """What the interlocks look at, as far as it is known now."""

    @abstractmethod
    def limit_violation(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """The limit of the site that the call would leave, though the device would carry it out; one line."""

    @abstractmethod
    def on_outcome(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> None:
        """A call that was sent has this outcome."""

    @abstractmethod
    def on_sample(self, sample: Sample) -> None:
        """The rig's own sensor says this."""


def read_result(model: type[Result], outcome: Outcome) -> Result | None:
    """A result value as its type; None where the device says something else than the type does."""
    try:
        return model.model_validate(outcome.value or {})
    except ValidationError:
        return None
