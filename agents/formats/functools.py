"""Firefunction: ` functools[{"name": ..., "arguments": {...}}]`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "functools",
    JsonForm("functools", also=r"functools(?=\s*\[)", listed=True),
    families="Firefunction v2",
    documented="the template in llama.cpp: `fireworks-ai-llama-3-firefunction-v2.jinja`",
    detected_by=("functools[",),
    marks=("functools[",),
    rank=1,
)
