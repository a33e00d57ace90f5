"""The shipped model's network: Qwen3's architecture in plain PyTorch.

RMS norm before each block, rotary embedding in halves, RMS norm of queries and keys per head, grouped
queries, SwiGLU, output tied to the embedding: what llama.cpp runs as `qwen3`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.shared_prefix_attention import shared_prefix_attention

Cache = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class Shape:
    """The network's sizes."""

    vocab: int
    width: int
    layers: int
    heads: int
    hidden: int
    kv_heads: int = 2
    head: int = 64
    context: int = 4096
    rope_base: float = 10000.0
    epsilon: float = 1e-6


SIZE = {"width": 192, "layers": 4, "heads": 4, "hidden": 512}
"""Of the model that ships."""


class Block(nn.Module):
    """One layer: attention, then the gated feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.attn_norm = nn.RMSNorm(shape.width, eps=shape.epsilon)
        self.q = nn.Linear(shape.width, shape.heads * shape.head, bias=False)
        self.k = nn.Linear(shape.width, shape.kv_heads * shape.head, bias=False)
        self.v = nn.Linear(shape.width, shape.kv_heads * shape.head, bias=False)
        self.o = nn.Linear(shape.heads * shape.head, shape.width, bias=False)
        self.q_norm = nn.RMSNorm(shape.head, eps=shape.epsilon)
        self.k_norm = nn.RMSNorm(shape.head, eps=shape.epsilon)
        self.ffn_norm = nn.RMSNorm(shape.width, eps=shape.epsilon)
        self.gate = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, prefix: Cache | None) -> tuple[Tensor, Cache]:
        """Return one layer over [batch, length, width]; returns the layer's keys and values too."""
        batch, length, _ = x.shape
        s = self.shape
        y = self.attn_norm(x)
        q = rotate(self.q_norm(self.q(y).view(batch, length, s.heads, s.head)), cos, sin).transpose(1, 2)
        k = rotate(self.k_norm(self.k(y).view(batch, length, s.kv_heads, s.head)), cos, sin).transpose(1, 2)
        v = self.v(y).view(batch, length, s.kv_heads, s.head).transpose(1, 2)
        q, k = q.to(v.dtype), k.to(v.dtype)
        k = k.repeat_interleave(s.heads // s.kv_heads, dim=1)
        v = v.repeat_interleave(s.heads // s.kv_heads, dim=1)
        if prefix is None:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            mixed = shared_prefix_attention(q, k, v, *prefix)
        x = x + self.o(mixed.transpose(1, 2).reshape(batch, length, s.heads * s.head))
        y = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)), (k, v)


class Network(nn.Module):
    """Token ids to logits."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocab, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, eps=shape.epsilon)
        frequency = shape.rope_base ** -(torch.arange(0, shape.head, 2) / shape.head)
        angle = torch.outer(torch.arange(shape.context).float(), frequency)
        self.register_buffer("cos", angle.cos()[:, None, :], persistent=False)
        self.register_buffer("sin", angle.sin()[:, None, :], persistent=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                scale = 0.02 if name.startswith("embedding") else weight.shape[1] ** -0.5
                if name.endswith(("o.weight", "down.weight")):
                    scale /= (2 * shape.layers) ** 0.5
                nn.init.normal_(weight, std=scale)

    def hidden(self, ids: Tensor, prefix: list[Cache] | None = None) -> tuple[Tensor, list[Cache]]:
        """Return the last hidden states of [batch, length] ids after `prefix`, and the keys and values."""
        start = prefix[0][0].shape[2] if prefix else 0
        cos, sin = self.cos[start : start + ids.shape[1]], self.sin[start : start + ids.shape[1]]
        x = self.embedding(ids)
        caches = []
        for number, block in enumerate(self.blocks):
            x, cache = block(x, cos, sin, prefix[number] if prefix else None)
            caches.append(cache)
        return self.norm(x), caches

    def logits(self, hidden: Tensor) -> Tensor:
        """Return logits over the vocabulary; the output shares the embedding's weights."""
        return F.linear(hidden, self.embedding.weight)

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of [batch, length] ids from the start of a text."""
        return self.logits(self.hidden(ids)[0])


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate [batch, length, heads, width]: the first half of the width with the second."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
