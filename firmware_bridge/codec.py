"""JSON payloads of the messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from core_eval.text.foreign_json import MAX_DEPTH, ForeignJsonError, parse_json
from firmware_bridge.messages import DeviceMessage, HostMessage, Lease, Message, Ops

M = TypeVar("M")

_HUGE = re.compile(rb"[eE]\+?\d\d|\d{290}")
"""Matches in every JSON with a number beyond all floats, such as 1e400."""


class CodecError(ValueError):
    """A payload that is no message; `data` is its JSON object, if it is one."""

    def __init__(self, reason: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.data = data


def encode(message: Message) -> bytes:
    """Return the message as compact JSON in UTF-8, without the keys that are None.

    Raises:
        ValueError, TypeError: a value has no JSON (NaN, an infinity, a lone surrogate, a set, bytes, a
            key that is no text, an object).
    """
    for name in message.free:
        _check_json(getattr(message, name))
    payload: bytes = message.__pydantic_serializer__.to_json(message, exclude_none=True)
    return payload


def _check_json(value: Any) -> None:
    """Raise ValueError or TypeError for values that pydantic would silently convert to JSON."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} is no text but {type(key).__name__}")
            _check_json(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_json(item)
    elif isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"{value!r} is no number")
    elif value is not None and not isinstance(value, str | int):
        raise TypeError(f"{value!r} is {type(value).__name__}")


def _decode_object(payload: bytes) -> dict[str, Any]:
    try:
        data = from_json(payload, allow_inf_nan=False)
    except ValueError as error:
        raise CodecError(f"no JSON: {error}") from None
    if not isinstance(data, dict):
        raise CodecError("no JSON object")
    try:
        # The same bounds as for all foreign JSON, since the message is logged and read again.
        parse_json(payload)
    except ForeignJsonError as error:
        raise CodecError(str(error), data) from None
    return data


class _Decoder(Generic[M]):
    """Decodes the messages of one end; `messages` is their union, `models` has them by their op."""

    def __init__(self, messages: Any, models: Mapping[str, Any]) -> None:
        self._validator: Any = TypeAdapter(Annotated[messages, Field(discriminator="op")]).validator
        self._models = models

    def __call__(self, payload: bytes) -> M | None:
        """Decode a message; None for an unknown op.

        Raises:
            CodecError: no JSON object, or keys that do not fit the op.
        """
        # The fast path. `NaN` and `Infinity` may stand in a string, or be invalid numbers.
        deep = payload.count(b"[") + payload.count(b"{") > MAX_DEPTH
        if deep or b"NaN" in payload or b"Infinity" in payload:
            return self._decode_slowly(payload)
        try:
            message: Any = self._validator.validate_json(payload)
        except ValidationError:
            return self._decode_slowly(payload)
        if _HUGE.search(payload) is not None:
            try:
                for name in message.free:
                    _check_json(getattr(message, name))
            except ValueError as error:
                raise CodecError(f"{message.op}: {error}", message.model_dump()) from None
        decoded: M = message
        return decoded

    def _decode_slowly(self, payload: bytes) -> M | None:
        data = _decode_object(payload)
        op = data.get("op")
        if not isinstance(op, str):
            raise CodecError("no op", data)
        model = self._models.get(op)
        return None if model is None else _validated(model, data)


decode_host_message = _Decoder[HostMessage](HostMessage, Ops.from_host)
"""Decodes a host's message."""
decode_device_message = _Decoder[DeviceMessage](DeviceMessage, Ops.from_device)
"""Decodes a device's message."""


def _validated(model: Any, data: dict[str, Any]) -> Any:
    op = data["op"]
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise CodecError(f"{op}: {'.'.join(map(str, first['loc']))}: {first['msg']}", data) from None


def decode_lease(payload: bytes) -> Lease:
    """Decode the lease of a rig.

    Raises:
        CodecError: no JSON object, or no lease.
    """
    data = _decode_object(payload)
    if data.get("op") != "lease":
        raise CodecError("no lease", data)
    lease: Lease = _validated(Lease, data)
    return lease
