"""Write what PyTorch answers: `python -m training.reference --run DIR --out FILE.json`.

The tests compare llama.cpp's greedy answers with these, so that they need no PyTorch. A record holds a
rendered conversation, the ids of PyTorch's greedy answer to it (32-bit, unquantised weights), and its logits
before the first token.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from tokenizers import Tokenizer

from training.checkpoints import LATEST, restore
from training.conversations import native_pieces
from training.network import Network
from training.system_turns import system_turn
from training.tokenizer import load
from training.transcripts import HELD_OUT, episode

LONGEST_ANSWER = 80


def main() -> None:
    """Parse the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="the folder that train.py wrote")
    parser.add_argument("--checkpoint", default=LATEST, help="the file in it")
    parser.add_argument("--episodes", type=int, default=3)
    parser.add_argument("--turns", type=int, default=4, help="turns of each episode, from the first on")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    network, tokenizer = restore(args.run / args.checkpoint), load(args.run / "tokenizer.json")
    records = []
    for seed in range(HELD_OUT, HELD_OUT + args.episodes):
        story = episode(seed)
        text = system_turn(story.device)
        turns = 0
        for piece, learned in native_pieces(story):
            if learned and turns < args.turns:
                answer, logits = greedy(network, tokenizer, text)
                records.append({"text": text, "answer": answer, "logits": logits})
                turns += 1
            text += piece
    args.out.write_text(json.dumps(records) + "\n")


@torch.no_grad()
def greedy(network: Network, tokenizer: Tokenizer, text: str) -> tuple[list[int], list[float]]:
    """Return the greedy answer's ids, its end included, and the logits before its first token."""
    end = tokenizer.token_to_id("<|im_end|>")
    hidden, context = network.hidden(torch.tensor([tokenizer.encode(text).ids]))
    logits = network.logits(hidden[0, -1])
    first = [round(value, 2) for value in logits.tolist()]
    answer: list[int] = []
    while len(answer) < LONGEST_ANSWER and (not answer or answer[-1] != end):
        answer.append(int(logits.argmax()))
        logits = network.logits(network.hidden(torch.tensor([answer]), context)[0][0, -1])
    return answer, first


if __name__ == "__main__":
    main()
