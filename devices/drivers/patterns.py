"""Patterns of an answer or a report: a regular expression, or keys of a JSON payload."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from pydantic import Field, field_validator, model_validator

from core_eval.text.foreign_json import ForeignJsonError, parse_json
from devices.drivers.templates import PLACEHOLDER, render, render_regex
from devices.drivers.values import Scalar, Strict, plain_text


@dataclass(frozen=True, slots=True)
class MachineMessage:
    """A line from a serial port (its topic is empty), or an MQTT message."""

    topic: str
    text: str
    retained: bool = False


class CaptureKey(Strict):
    """Captures the JSON value under a key."""

    capture: str = Field(description="the name to keep it under")


class Pattern(Strict):
    """A message to wait for or to monitor; a plain text in the file is a `match`."""

    topic: str = Field(default="", description="the MQTT topic; may hold ${...}")
    match: str | None = Field(
        default=None,
        description="regular expression, found anywhere in the text; named groups are captured; "
        "${...} stands for literal text",
    )
    keys: dict[str, Scalar | CaptureKey] | None = Field(
        default=None, description="JSON payload: dotted key to its value, or to {capture: NAME}"
    )

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, written: Any) -> Any:
        return {"match": written} if isinstance(written, str) else written

    @field_validator("match")
    @classmethod
    def _compiles(cls, match: str | None) -> str | None:
        if match is not None:
            try:
                re.compile(PLACEHOLDER.sub("x", match))
            except re.error as error:
                raise ValueError(f"{match!r} is no regular expression: {error}") from None
        return match

    @model_validator(mode="after")
    def _something(self) -> Pattern:
        if self.match is None and self.keys is None and not self.topic:
            raise ValueError("a pattern needs `match`, `keys` or a `topic`")
        return self

    def find(self, message: MachineMessage, names: Mapping[str, str]) -> dict[str, str] | None:
        """Return the captures if the message fits; else None."""
        if message.topic != render(self.topic, names):
            return None
        captures: dict[str, str] = {}
        if self.match is not None:
            found = re.search(render_regex(self.match, names), message.text)
            if found is None:
                return None
            captures.update({name: text for name, text in found.groupdict().items() if text is not None})
        if self.keys is not None and not self._find_keys(message.text, names, captures):
            return None
        return captures

    def _find_keys(self, text: str, names: Mapping[str, str], captures: dict[str, str]) -> bool:
        assert self.keys is not None
        try:
            # A board may write NaN for a missing sensor, beside the requested keys.
            payload = parse_json(text, strict_numbers=False)
        except ForeignJsonError:
            return False
        for dotted, wanted in self.keys.items():
            value: Any = payload
            for part in render(dotted, names).split("."):
                if not isinstance(value, Mapping) or part not in value:
                    return False
                value = value[part]
            if isinstance(wanted, CaptureKey):
                if not isinstance(value, bool | int | float | str):
                    return False
                if isinstance(value, float) and not isfinite(value):
                    return False
                captures[wanted.capture] = plain_text(value)
            elif value != (render(wanted, names) if isinstance(wanted, str) else wanted):
                return False
        return True
