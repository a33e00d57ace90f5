"""Held-out episodes, teacher-forced: how many calls the network would write exactly, token for token."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer

from training.batches import encode
from training.conversations import native_pieces
from training.network import Cache, Network
from training.system_turns import system_turn
from training.transcripts import HELD_OUT, episode
from training.wordings import Wordings


@torch.no_grad()
def teacher_forced(
    network: Network, tokenizer: Tokenizer, count: int, wordings: Wordings
) -> dict[str, float]:
    """Return exact turns and exact episodes of `count` held-out episodes, each turn after the expert's own
    history.

    A turn is exact where the network's likeliest token is the expert's at every place of it. Where every turn
    is exact, the network would write the whole episode by itself, word for word.
    """
    device = network.embedding.weight.device
    prefixes: dict[int, list[Cache]] = {}
    turns = exact_turns = exact_episodes = 0
    for seed in range(HELD_OUT, HELD_OUT + count):
        story = episode(seed, wordings)
        rig = story.device
        with torch.autocast(device.type, dtype=torch.bfloat16):
            if id(rig) not in prefixes:
                _, prefixes[id(rig)] = network.hidden(
                    torch.tensor([tokenizer.encode(system_turn(rig)).ids], device=device)
                )
            ids, learned = encode(tokenizer, native_pieces(story))
            hidden, _ = network.hidden(torch.tensor([ids], device=device), prefixes[id(rig)])
            guess = network.logits(hidden[0]).argmax(-1).tolist()
        wrong_before, wrong = 0, 0
        for k in range(1, len(ids)):
            if learned[k]:
                wrong += guess[k - 1] != ids[k]
                if k + 1 == len(ids) or not learned[k + 1]:
                    turns += 1
                    exact_turns += wrong == wrong_before
                    wrong_before = wrong
        exact_episodes += wrong == 0
    return {"exact_turns": round(exact_turns / turns, 4), "exact_episodes": round(exact_episodes / count, 4)}
