"""Attention of a batch of episodes to themselves and to one prefix that they share.

The system turn with the tools is the same for every episode of a batch, so its keys and values are computed
once. The two parts run as two flash attentions, without a mask, and are merged by their log-sum-exps; the
backward pass of each part needs only the merged output and the merged log-sum-exp (Dao et al.,
arXiv 2205.14135, algorithm 4).
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


class _SharedPrefix(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, pk: Tensor, pv: Tensor) -> Tensor:
        batch, heads, length, width = q.shape
        own, own_lse = _forward(q, k, v, 0.0, True)
        flat = q.transpose(0, 1).reshape(1, heads, batch * length, width)
        pre, pre_lse = _forward(flat, pk, pv, 0.0, False)
        pre = pre.view(heads, batch, length, width).transpose(0, 1)
        pre_lse = pre_lse.reshape(heads, batch, length).transpose(0, 1)
        own_lse = own_lse.reshape(batch, heads, length)
        lse = torch.logaddexp(own_lse, pre_lse)
        share = (pre_lse - lse).exp().unsqueeze(-1)
        out = own.float().lerp(pre.float(), share).to(q.dtype)
        ctx.save_for_backward(q, k, v, pk, pv, out, lse)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        q, k, v, pk, pv, out, lse = ctx.saved_tensors
        batch, heads, length, width = q.shape
        grad = grads[0].contiguous()
        dq, dk, dv = _backward(grad, q, k, v, out, lse, 0.0, True)

        def flat(x: Tensor) -> Tensor:
            return x.transpose(0, 1).reshape(1, heads, batch * length, *x.shape[3:])

        dq_pre, dpk, dpv = _backward(flat(grad), flat(q), pk, pv, flat(out), flat(lse), 0.0, False)
        dq = dq + dq_pre.view(heads, batch, length, width).transpose(0, 1)
        return dq, dk, dv, dpk, dpv


def joined_attention(q: Tensor, k: Tensor, v: Tensor, pk: Tensor, pv: Tensor) -> Tensor:
    """Return the same as `shared_prefix_attention` by one attention with a mask, on any device."""
    batch, _, length, _ = q.shape
    before = pk.shape[2]
    seen = torch.ones(length, before + length, dtype=torch.bool, device=q.device).tril(before)
    keys, values = (
        torch.cat((prefix.expand(batch, -1, -1, -1), own), dim=2) for prefix, own in ((pk, k), (pv, v))
    )
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)


def shared_prefix_attention(q: Tensor, k: Tensor, v: Tensor, pk: Tensor, pv: Tensor) -> Tensor:
    """Return causal attention within each episode, and full attention to the prefix before it.

    Args:
        q, k, v: [batch, heads, length, width].
        pk, pv: [1, heads, prefix length, width].
    """
    if q.device.type != "cpu":
        return joined_attention(q, k, v, pk, pv)
    result: Tensor = _SharedPrefix.apply(q.contiguous(), k.contiguous(), v.contiguous(), pk, pv)
    return result
