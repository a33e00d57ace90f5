"""Stores truth as changes from the previous state, as JSON merge patches (RFC 7396).

A merge patch takes a key away by null, so a value that becomes null goes in as the text `NULL`; the log's
view `truth` turns it back, and so does `changed`. Patches are packed as SQLite's archives pack their files,
so that the view can be read wherever `sqlar_uncompress` is there.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from core_eval.text.json_text import to_json

NULL = "~null"
"""Stands for null in a patch, so a state that contains this text is stored whole."""
MAX_PATCH_BYTES = 1 << 24
"""Upper limit of a patch's size, bytes; a larger claim means damage."""


def change(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the patch from the first state to the second; neither contains the text `NULL`."""
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict):
            below = change(old if isinstance(old, dict) else {}, value)
            if below or not isinstance(old, dict):
                patch[key] = below
        # By text: 1, 1.0 and true are equal to Python, and so are 0.0 and -0.0.
        elif key not in before or repr(value) != repr(old):
            # A list goes in as a whole, so its nulls stay nulls.
            patch[key] = NULL if value is None else value
    return patch


def changed(before: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state after a change; unchanged parts are shared with the previous state."""
    after = dict(before) if isinstance(before, dict) else {}
    for key, value in patch.items():
        if value is None:
            after.pop(key, None)
        elif isinstance(value, dict):
            after[key] = changed(after.get(key), value)
        else:
            after[key] = None if value == NULL else value
    return after


def packed(patch: Mapping[str, Any]) -> tuple[bytes, int]:
    """Pack the patch for its row; return it with its unpacked size in bytes."""
    text = to_json(dict(patch)).encode()
    small = zlib.compress(text, 9)
    return (small if len(small) < len(text) else text), len(text)


def unpacked(data: bytes, size: int) -> bytes:
    """Unpack what `packed` packed, as SQLite's own `sqlar_uncompress`.

    Raises:
        ValueError: it is damaged.
    """
    if len(data) == size:
        return data
    if not 0 <= size <= MAX_PATCH_BYTES:
        raise ValueError(f"{size} bytes are too many")
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, size + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(text) != size:
        raise ValueError(f"does not have {size} bytes")
    return text
