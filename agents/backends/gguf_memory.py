"""How much memory a GGUF needs, from what it states of itself; the weights are not loaded."""

from __future__ import annotations

import json
from pathlib import Path

from agents.backends.llama_engine import LlamaEngine

BYTES_OF = {"f32": 4.0, "f16": 2.0, "bf16": 2.0, "q8_0": 34 / 32, "q5_1": 24 / 32, "q5_0": 22 / 32,
            "q4_1": 20 / 32, "q4_0": 18 / 32}  # fmt: skip
"""Bytes of a number in the KV cache, by its type (ggml's blocks of 32)."""
COMPUTING = 0.1
"""What llama.cpp takes beside weights and cache, as a share of them."""
LEAST = 64 * 2**20
"""Bytes that it takes at least, with its own program text."""


def memory_needed(path: Path, n_ctx: int, kv_type: str = "q8_0") -> int:
    """Return the estimated bytes for weights, KV cache and computing.

    The cache has a key and a value for each layer, head and token. What the file does not state counts as 0.

    Raises:
        AgentSpecError: the file is no GGUF, or llama-cpp-python is not installed.
    """
    engine = LlamaEngine(path, n_ctx=0, n_threads=1, only_words=True)
    try:
        kind = engine.meta("general.architecture") or ""

        def stated(key: str) -> float:
            return _number(engine.meta(f"{kind}.{key}"))

        heads = stated("attention.head_count")
        width = stated("embedding_length") / heads if heads else 0.0
        numbers = (stated("attention.key_length") or width) + (stated("attention.value_length") or width)
        numbers *= stated("block_count") * (stated("attention.head_count_kv") or heads)
        tokens = min(n_ctx, stated("context_length") or n_ctx)
    finally:
        engine.close()
    held = path.stat().st_size + tokens * numbers * BYTES_OF.get(kv_type, 2.0)
    return int(held + max(LEAST, COMPUTING * held))


def _number(text: str | None) -> float:
    """Return a number of the metadata; of a list, one for each layer, the largest; 0 where there is none."""
    try:
        found = json.loads(text or "0")
    except ValueError:
        return 0.0
    return float(max(found, default=0.0) if isinstance(found, list) else found)
