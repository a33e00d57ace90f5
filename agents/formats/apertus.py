"""Apertus: `<|tools_prefix|>[{NAME: {...}}]<|tools_suffix|>`."""

from __future__ import annotations

from typing import Any

from agents.formats.calls import Item, Nonsense, call_of
from agents.formats.json_form import JsonForm, json_format


def _read(record: Any, text: str) -> Item:
    if not isinstance(record, dict) or len(record) != 1:
        return Nonsense(
            "not_an_object", "a call must be an object with the tool's name as its only key", text
        )
    ((name, arguments),) = record.items()
    return call_of(name, arguments, text)


FORMAT = json_format(
    "apertus",
    JsonForm("<|tools_prefix|>", "<|tools_suffix|>", listed=True, head="{", middle=": ", read=_read),
    families="Apertus",
    documented="the template in llama.cpp: `Apertus-8B-Instruct.jinja`",
    thoughts=(("<|inner_prefix|>", "<|inner_suffix|>"),),
)
