"""Tiny GGUF files for tests: the Qwen3 architecture with random weights over an alphabet of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import gguf
import numpy as np
from tokenizers.pre_tokenizers import ByteLevel

WIDTH, HEADS, HEAD, HIDDEN, LAYERS = 32, 2, 16, 32, 2
MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def write_tiny_gguf(
    path: Path,
    *,
    template: str | None,
    seed: int = 0,
    context: int = 4096,
    sampling: Mapping[str, float] = MappingProxyType({}),
) -> Path:
    """A model that writes nonsense."""
    rng = np.random.default_rng(seed)
    tokens = [*sorted(ByteLevel.alphabet()), *MARKS, *CONTROL]
    kinds = [gguf.TokenType.NORMAL] * 256
    kinds += [gguf.TokenType.USER_DEFINED] * len(MARKS) + [gguf.TokenType.CONTROL] * len(CONTROL)
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_name("tiny")
    writer.add_context_length(context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    # No merge ever applies to bytes of ASCII text, but the loader wants at least one.
    writer.add_token_merges(["Ā ā"])
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(False)
    for key, value in sampling.items():
        if isinstance(value, int):
            writer.add_int32(f"general.sampling.{key}", value)
        else:
            writer.add_float32(f"general.sampling.{key}", value)
    if template is not None:
        writer.add_chat_template(template)

    def matrix(name: str, rows: int, columns: int, scale: float = 0.3) -> None:
        writer.add_tensor(name, rng.normal(0.0, scale, (rows, columns)).astype(np.float32))

    def ones(name: str, size: int) -> None:
        writer.add_tensor(name, np.ones(size, np.float32))

    matrix("token_embd.weight", len(tokens), WIDTH, 1.0)
    matrix("output.weight", len(tokens), WIDTH, 1.0)
    ones("output_norm.weight", WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        ones(f"{block}.attn_norm.weight", WIDTH)
        ones(f"{block}.ffn_norm.weight", WIDTH)
        ones(f"{block}.attn_q_norm.weight", HEAD)
        ones(f"{block}.attn_k_norm.weight", HEAD)
        matrix(f"{block}.attn_q.weight", HEADS * HEAD, WIDTH)
        matrix(f"{block}.attn_k.weight", HEAD, WIDTH)
        matrix(f"{block}.attn_v.weight", HEAD, WIDTH)
        matrix(f"{block}.attn_output.weight", WIDTH, HEADS * HEAD)
        matrix(f"{block}.ffn_gate.weight", HIDDEN, WIDTH)
        matrix(f"{block}.ffn_up.weight", HIDDEN, WIDTH)
        matrix(f"{block}.ffn_down.weight", WIDTH, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
