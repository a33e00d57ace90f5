"""Batches for training: episodes of one device, of like length, after one system turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

import torch
from tokenizers import Tokenizer
from torch import Tensor

from devices.device_type import DeviceType
from training.conversations import NATIVE, REACT, Conversation, Piece
from training.transcripts import episodes

POOL = 1024
LONGEST = 1600
LENGTH_STEP = 64
PLACES_STEP = 256
"""Lengths and counts are rounded up, so that few shapes occur and compiled kernels are used again."""
IGNORED = -100
Row = tuple[list[int], list[bool]]
"""Token ids of an episode, and which of them the model is to write."""


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

    def to(self, device: torch.device) -> Batch:
        """Return the same batch on a device."""
        return Batch(*(part.to(device) for part in (self.prefix, self.ids, self.places, self.targets)))


def encode(tokenizer: Tokenizer, pieces: Iterable[Piece]) -> Row:
    """Return token ids of an episode's pieces, and which of them the model is to write."""
    ids: list[int] = []
    learned: list[bool] = []
    for text, learn in pieces:
        part = tokenizer.encode(text).ids
        ids += part
        learned += [learn] * len(part)
    return ids, learned


def collate(prefix: list[int], rows: list[Row]) -> Batch:
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


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the stream of batches, from which it goes on the same.

    Attributes:
        pool: number of the pool of episodes; its seeds begin at `pool * POOL`.
        batch: number of the batch within the pool.
        share: how much of the budget was spent when the pool began, 0 to 1.
    """

    pool: int = 0
    batch: int = 0
    share: float = 0.0


def batches(
    tokenizer: Tokenizer,
    tokens: int,
    share: Callable[[], float],
    most_turns: Callable[[float], int],
    react: float,
    place: Place,
) -> Iterator[tuple[Place, Batch]]:
    """Yield batches of about `tokens` tokens without end, and the place after each.

    Args:
        tokenizer: the tokenizer.
        tokens: tokens a batch, padding counted, the system turn not.
        share: returns how much of the budget is spent, 0 to 1.
        most_turns: how many calls an episode may have after that share; longer ones are passed over.
        react: the share of episodes in the words of ReAct.
        place: where to begin.
    """
    while True:
        rng = Random(f"pool {place.pool}")
        plan = _plan(tokenizer, tokens, most_turns(place.share), react, place.pool, rng)
        for number, (put, device, rows) in enumerate(plan):
            prefix = tokenizer.encode(put.system_turn(device, rng)).ids
            if number >= place.batch:
                yield Place(place.pool, number + 1, place.share), collate(prefix, rows)
        place = Place(place.pool + 1, 0, share())


def _plan(
    tokenizer: Tokenizer, tokens: int, most_turns: int, react: float, pool: int, rng: Random
) -> list[tuple[Conversation, DeviceType, list[Row]]]:
    """Return the batches of a pool: rows of one scaffold and device and of like length."""
    kinds: dict[tuple[str, int], tuple[Conversation, DeviceType, list[Row]]] = {}
    for story in islice(episodes(pool * POOL), POOL):
        put = REACT if rng.random() < react else NATIVE
        if len(story.turns) > most_turns:
            continue
        row = encode(tokenizer, put.pieces(story))
        if len(row[0]) <= LONGEST:
            kind = put.scaffold, id(story.device)
            kinds.setdefault(kind, (put, story.device, []))[2].append(row)
    plan = []
    for put, device, rows in kinds.values():
        rows.sort(key=lambda row: len(row[0]))
        while rows:
            count = max(1, tokens // _rounded(len(rows[-1][0]), LENGTH_STEP))
            plan.append((put, device, rows[-count:]))
            del rows[-count:]
    rng.shuffle(plan)
    return plan
