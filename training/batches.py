"""Batches for training: episodes of one device, of like length, after one system turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

import torch
from tokenizers import Tokenizer
from torch import Tensor

from devices.device_type import DeviceType
from training.episode import Episode, pieces, system_turn
from training.transcripts import episodes

POOL = 512
LONGEST = 1600
LENGTH_STEP = 64
PLACES_STEP = 256
IGNORED = -100
"""Lengths and counts are rounded up, so that few shapes occur and compiled kernels are used again."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Token ids: the system turn [1, P], the episodes [B, L], and where the model learns to write what.

    Attributes:
        prefix: ids of the system turn.
        ids: ids of the episodes, padded on the right.
        places: flat indices into [B * L] whose next token the model writes, filled up with zeros.
        targets: those next tokens, filled up with `IGNORED`.
    """

    prefix: Tensor
    ids: Tensor
    places: Tensor
    targets: Tensor


def encode(tokenizer: Tokenizer, episode: Episode) -> tuple[list[int], list[bool]]:
    """Return token ids of an episode, and which of them the model is to write."""
    ids: list[int] = []
    learned: list[bool] = []
    for text, learn in pieces(episode):
        part = tokenizer.encode(text).ids
        ids += part
        learned += [learn] * len(part)
    return ids, learned


def collate(prefix: list[int], rows: list[tuple[list[int], list[bool]]]) -> Batch:
    """Return one batch of encoded episodes."""
    length = _rounded(max(len(ids) for ids, _ in rows), LENGTH_STEP)
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    places, targets = [], []
    for number, (row, learned) in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
        for k in range(1, len(row)):
            if learned[k]:
                places.append(number * length + k - 1)
                targets.append(row[k])
    missing = _rounded(len(places), PLACES_STEP) - len(places)
    places += [0] * missing
    targets += [IGNORED] * missing
    return Batch(torch.tensor([prefix]), ids, torch.tensor(places), torch.tensor(targets))


def _rounded(count: int, step: int) -> int:
    return -(-count // step) * step


def batches(
    tokenizer: Tokenizer,
    first_seed: int,
    tokens: int,
    shuffled_tools: float,
    most_turns: Callable[[], int] = lambda: 1000,
) -> Iterator[Batch]:
    """Yield batches of about `tokens` tokens (the system turn not counted), without end.

    Args:
        tokenizer: the tokenizer.
        first_seed: the seed of the first episode.
        tokens: tokens a batch, padding counted.
        shuffled_tools: the share of batches whose tools come in another order.
        most_turns: how many calls an episode may have now; longer ones are passed over.
    """
    rng = Random(first_seed)
    source = episodes(first_seed)
    while True:
        by_device: dict[str, list[tuple[list[int], list[bool]]]] = {}
        devices: dict[str, DeviceType] = {}
        most = most_turns()
        for episode in islice((e for e in source if len(e.turns) <= most), POOL):
            devices[episode.device.name] = episode.device
            row = encode(tokenizer, episode)
            if len(row[0]) <= LONGEST:
                by_device.setdefault(episode.device.name, []).append(row)
        plan = []
        for name, rows in by_device.items():
            rows.sort(key=lambda row: len(row[0]))
            while rows:
                count = max(1, tokens // _rounded(len(rows[-1][0]), LENGTH_STEP))
                plan.append((name, rows[-count:]))
                del rows[-count:]
        rng.shuffle(plan)
        for name, rows in plan:
            order = list(range(len(devices[name].tools)))
            if rng.random() < shuffled_tools:
                rng.shuffle(order)
            yield collate(tokenizer.encode(system_turn(devices[name], order)).ids, rows)
