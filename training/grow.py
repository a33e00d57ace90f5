"""Begin a larger network with a smaller one's weights, so that it does the same before it is trained.

What is new adds nothing at first: nothing is written to new columns of the residual stream, and the outputs
of new heads, new units of the feed-forward and new layers have weights of zero. Their inputs have random
ones, so that gradients reach all of them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from training.network import Network, Shape

READS = ("q", "k", "v", "gate", "up")
WRITES = ("o", "down")


@torch.no_grad()
def grown(checkpoint: dict[str, Any], network: Network) -> Network:
    """Return `network` with the weights of a checkpoint of a smaller one in it.

    An RMS norm divides by the root of the mean square, so its weights shrink with the root of the ratio of
    the widths.
    """
    small, large, old = Shape(**checkpoint["shape"]), network.shape, checkpoint["weights"]
    new = network.state_dict()
    ratio = (small.width / large.width) ** 0.5
    width, heads = slice(small.width), _old_heads(small, large)
    columns = {"o": heads, "down": slice(small.hidden)}
    rows = {
        "q": heads,
        "k": slice(None),
        "v": slice(None),
        "gate": slice(small.hidden),
        "up": slice(small.hidden),
    }
    new["embedding.weight"].zero_()
    new["embedding.weight"][:, width] = old["embedding.weight"]
    _widen_norm(new["norm.weight"], old["norm.weight"], ratio)
    for number in range(large.layers):
        layer = f"blocks.{number}"
        for part in WRITES:
            new[f"{layer}.{part}.weight"].zero_()
        if number >= small.layers:
            continue
        for part in ("attn_norm", "ffn_norm"):
            _widen_norm(new[f"{layer}.{part}.weight"], old[f"{layer}.{part}.weight"], ratio)
        for part in ("q_norm", "k_norm"):
            new[f"{layer}.{part}.weight"].copy_(old[f"{layer}.{part}.weight"])
        for part in READS:
            new[f"{layer}.{part}.weight"][rows[part], width] = old[f"{layer}.{part}.weight"]
        for part in WRITES:
            new[f"{layer}.{part}.weight"][width, columns[part]] = old[f"{layer}.{part}.weight"]
    return network


def _old_heads(small: Shape, large: Shape) -> Tensor:
    """Return where the small network's query heads stand in the large one: next to their key heads."""
    per_key, per_new_key = small.heads // small.kv_heads, large.heads // large.kv_heads
    heads = [head // per_key * per_new_key + head % per_key for head in range(small.heads)]
    return torch.cat([torch.arange(head * large.head, (head + 1) * large.head) for head in heads])


def _widen_norm(new: Tensor, old: Tensor, ratio: float) -> None:
    new.fill_(ratio)
    new[: len(old)] = old * ratio
