"""The result of an MCP call as a value of this kit."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types

from core_eval.text.foreign_json import ForeignJsonError, parse_json

MOST_BYTES = 60_000
"""Bytes of a result as JSON: with what surrounds it, it must fit into a frame of the link."""


def result_text(result: types.CallToolResult) -> str:
    """Return the texts of a result, one below the other; other contents are named, with their size."""
    return "\n".join(_text(block) for block in result.content)


def result_value(result: types.CallToolResult) -> dict[str, Any]:
    """Return a result as a JSON object.

    It is the structured content, under `result` if that is no object. Without one, or if it is too long, it
    is the text: its keys if it is a JSON object, else under `text`, with the number of letters that were cut
    off under `cut`.

    Raises:
        ForeignJsonError: the structured content cannot be logged.
    """
    structured = result.structured_content
    if structured is not None:
        value = parse_json(json.dumps(structured))
        value = value if isinstance(value, dict) else {"result": value}
        if _size(value) <= MOST_BYTES:
            return value
    # The text should say the same; a server may leave it out.
    text = result_text(result) or ("" if structured is None else json.dumps(structured, ensure_ascii=False))
    try:
        value = parse_json(text, max_bytes=4 * MOST_BYTES)
    except ForeignJsonError:
        value = None
    if isinstance(value, dict) and _size(value) <= MOST_BYTES:
        return value
    kept = beginning(text)
    return {"text": kept} if kept == text else {"text": kept, "cut": len(text) - len(kept)}


def beginning(text: str) -> str:
    """Return as much of a text as a result may have."""
    kept = text[:MOST_BYTES]
    while (size := _size(kept)) > MOST_BYTES:
        kept = kept[: len(kept) * MOST_BYTES // size]
    return kept


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode(errors="replace"))


def _text(block: Any) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.EmbeddedResource) and isinstance(block.resource, types.TextResourceContents):
        return block.resource.text
    if isinstance(block, types.ResourceLink):
        return f"[resource {block.uri}]"
    held = getattr(block, "resource", block)
    data: str = getattr(held, "data", "") or getattr(held, "blob", "")
    kind = getattr(held, "mime_type", None) or "unknown type"
    return f"[{block.type}, {kind}, {len(data) * 3 // 4} bytes]"
