"""Nemotron Nano 2: `<TOOLCALL>[{"name": ..., "arguments": {...}}]</TOOLCALL>`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "nemotron",
    JsonForm("<TOOLCALL>", "</TOOLCALL>", listed=True),
    families="Nemotron Nano 2, Llama Nemotron Nano",
    documented="[Nemotron Nano 9B v2](https://huggingface.co/nvidia/NVIDIA-Nemotron-Nano-9B-v2)",
)
