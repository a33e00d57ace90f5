"""Train the shipped model: `python -m training.train --out DIR --minutes 75`.

The schedule goes by the clock: after a short warm-up the learning rate stays, then falls in a straight line
to zero at the end of the time given. Matrices are trained by Muon, embedding and norms by AdamW; the loss is
on the model's own tokens only. Every few minutes the weights are saved and held-out episodes are tried.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from training.batches import IGNORED, Batch, batches
from training.network import Network, Shape
from training.teacher_forced import teacher_forced
from training.tokenizer import corpus, learn, load

WARM_UP_STEPS = 100
MATRIX_RATE = 0.003
NORM_RATE = 0.002
EMBEDDING_RATE = 0.0007
"""Names are rare tokens, and copying them needs embeddings that hold still."""
CLIP = 1.0
SHORT_FIRST = ((0.1, 6), (0.2, 9))
"""Until that share of the time, only episodes of at most so many calls: to read names out of the prompt is
learned several times sooner where one job is asked for."""
NO_MOST = 1000
BARE_FIRST = 0.1
"""Until that share of the time, three of four batches go without the system turn, for the same reason."""


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for tokenizer, checkpoints and log")
    parser.add_argument("--minutes", type=float, required=True, help="wall-clock budget")
    parser.add_argument(
        "--tokens", type=int, default=6000, help="tokens a batch, the system turn not counted"
    )
    parser.add_argument("--vocabulary", type=int, default=1100, help="size of the vocabulary at most")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--shuffled-tools", type=float, default=0.25, help="share of batches with tools in another order"
    )
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first episode")
    parser.add_argument("--resume", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--flat", type=float, default=0.5, help="share of the time before the rate falls")
    parser.add_argument("--no-compile", action="store_true", help="run without torch.compile")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    train(args)


def train(args: argparse.Namespace) -> None:
    """Run the training to the end of its time."""
    end, begun = time.monotonic() + 60 * args.minutes, time.monotonic()
    tokenizer = _tokenizer(args.out / "tokenizer.json", args.vocabulary)
    network = restore(args.resume) if args.resume else Network(Shape(vocab=tokenizer.get_vocab_size()))
    if not args.no_compile:
        # Each block comes with and without the prefix, for one episode and for several; past the limit,
        # torch would go on without compiled code, half as fast.
        torch._dynamo.config.recompile_limit = 128
        for block in network.blocks:
            block.compile(dynamic=True)
    optimizers = _optimizers(network)
    step = tokens = 0
    loss_sum = torch.zeros(())
    next_check = begun + 180

    def most_turns() -> int:
        share = (time.monotonic() - begun) / (end - begun)
        return next((most for until, most in SHORT_FIRST if share < until), NO_MOST)

    for batch in batches(tokenizer, args.first_seed, args.tokens, args.shuffled_tools, most_turns):
        now = time.monotonic()
        if now >= end:
            break
        rate = _rate(step, (now - begun) / (end - begun), args.flat)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["top_rate"] * rate
        bare = now - begun < BARE_FIRST * (end - begun) and step % 4 != 3
        loss = batch_loss(network, batch, bare=bare)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        step, tokens = step + 1, tokens + batch.ids.numel()
        loss_sum += loss.detach()
        if step % 50 == 0:
            _log(args.out, step=step, tokens=tokens, loss=round(loss_sum.item() / 50, 5), rate=round(rate, 3),
                 seconds=round(now - begun))  # fmt: skip
            loss_sum.zero_()
        if now > next_check:
            next_check += 180
            save(network, args.out / "checkpoint.pt")
            _log(args.out, step=step, seconds=round(now - begun), **teacher_forced(network, tokenizer, 200))
    save(network, args.out / "final.pt")
    _log(args.out, step=step, tokens=tokens, seconds=round(time.monotonic() - begun), final=True,
         **teacher_forced(network, tokenizer, 1000))  # fmt: skip


def batch_loss(network: Network, batch: Batch, *, bare: bool = False) -> torch.Tensor:
    """Return mean cross-entropy of the tokens that the model writes; `bare` leaves the system turn out."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prefix = None if bare else network.hidden(batch.prefix)[1]
        hidden, _ = network.hidden(batch.ids, prefix)
        logits = network.logits(hidden.flatten(0, 1)[batch.places])
    return F.cross_entropy(logits.float(), batch.targets, ignore_index=IGNORED)


def save(network: Network, path: Path) -> None:
    """Write weights and shape, whole or not at all."""
    part = path.with_suffix(".part")
    torch.save({"shape": asdict(network.shape), "weights": network.state_dict()}, part)
    part.replace(path)


def restore(path: Path) -> Network:
    """Return the network of a checkpoint."""
    state: dict[str, Any] = torch.load(path, weights_only=True)
    network = Network(Shape(**state["shape"]))
    network.load_state_dict({name.replace("_orig_mod.", ""): w for name, w in state["weights"].items()})
    return network


def _rate(step: int, time_share: float, flat: float) -> float:
    decay = 1.0 if time_share < flat else max(0.0, (1.0 - time_share) / (1.0 - flat))
    return decay * min(1.0, (step + 1) / WARM_UP_STEPS)


def _optimizers(network: Network) -> list[torch.optim.Optimizer]:
    matrices = [p for name, p in network.named_parameters() if p.dim() == 2 and "embedding" not in name]
    norms = [p for name, p in network.named_parameters() if p.dim() == 1]
    groups = [
        {"params": norms, "lr": NORM_RATE},
        {"params": [network.embedding.weight], "lr": EMBEDDING_RATE},
    ]
    muon = torch.optim.Muon(
        matrices, lr=MATRIX_RATE, weight_decay=0.01, momentum=0.95, adjust_lr_fn="match_rms_adamw"
    )
    adam = torch.optim.AdamW(groups, betas=(0.9, 0.99), weight_decay=0.0)
    for optimizer in (muon, adam):
        for group in optimizer.param_groups:
            group["top_rate"] = group["lr"]
    return [muon, adam]


def _tokenizer(path: Path, size: int) -> Tokenizer:
    if not path.exists():
        learn(corpus(3000), size).save(str(path))
    return load(path)


def _log(folder: Path, **fields: Any) -> None:
    line = json.dumps(fields)
    print(line, flush=True)
    with (folder / "log.jsonl").open("a") as file:
        file.write(line + "\n")


if __name__ == "__main__":
    main()
