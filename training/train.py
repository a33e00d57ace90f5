"""Train the shipped model: `python -m training.train --out DIR --tokens 44M`.

The same command goes on where it stopped. `DIR` holds the tokenizer, a log, the checkpoint to go on from
(`latest.pt`), and weights, settings and tokens seen at each check (`tokens-*.pt`, kept). The learning rate
goes by the share of the budget that is spent: after a short warm-up it stays, then falls in a straight line
to zero. A larger `--tokens` goes on with a trained model; `--minutes`, its checks counted, or Ctrl-C ends a
leg early. With one thread on one machine the same settings give the same weights, in however many legs.
A later leg may have other batches: larger ones take less time a token.

Matrices are trained by Muon, embedding and norms by AdamW; the loss is on the model's own tokens only.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from training.batches import IGNORED, Batch, batches
from training.checkpoints import LATEST, Progress, load, progress_of, save
from training.held_out_wordings import HELD_OUT_WORDS
from training.network import SIZE, Network, Shape
from training.teacher_forced import teacher_forced
from training.tokenizer import corpus, learn
from training.tokenizer import load as load_tokenizer
from training.wordings import SEEN

WARM_UP_STEPS = 100
MATRIX_RATE = 0.003
NORM_RATE = 0.002
EMBEDDING_RATE = 0.0007
"""Names are rare tokens, and copying them needs embeddings that hold still."""
CLIP = 1.0
SHORT_FIRST = ((0.1, 6), (0.2, 9))
"""Until that share of the tokens, only episodes of at most so many calls: to read names out of the prompt is
learned several times sooner where one job is asked for."""
NO_MOST = 1000
VOCABULARY = 1536
TOKENIZER_EPISODES = 6000
RECOMPILE_LIMIT = 64
"""Graphs that PyTorch keeps of a layer; shapes beyond run uncompiled."""
UNITS = {"": 1, "k": 1000, "M": 1_000_000}


def main() -> None:
    """Parse the command line and train."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the training, not of shipped files"
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--tokens", type=_count, required=True, help="budget of all legs together, such as 30M"
    )
    parser.add_argument("--minutes", type=float, help="budget of this leg, checks counted")
    parser.add_argument("--batch", type=int, default=6000, help="tokens a batch, the system turn not counted")
    parser.add_argument("--check", type=_count, default=1_000_000, help="tokens between two checks")
    parser.add_argument("--held-out", type=int, default=100, help="held-out episodes of a check")
    parser.add_argument("--react", type=float, default=0.2, help="share of episodes in the words of ReAct")
    parser.add_argument("--flat", type=float, default=0.4, help="share of the budget before the rate falls")
    parser.add_argument(
        "--bare",
        type=float,
        default=0.35,
        help="share of the budget in which three of four batches go without the system turn",
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--compile", action="store_true", help="compile the layers first, which needs a C++ compiler"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first weights")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    try:
        Training(args).run()
    except SettingsError as error:
        sys.exit(f"error: {error}")


class SettingsError(Exception):
    """The folder holds a training with other settings."""


class Training:
    """A training and its folder."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Take up what the folder holds, or begin.

        Raises:
            SettingsError: the folder's training has other settings.
        """
        self.begun = time.monotonic()
        self.args, self.device = args, torch.device(args.device)
        self.folder: Path = args.out
        self.settings = {
            "batch": args.batch,
            "seed": args.seed,
            "react": args.react,
            "tokens": args.tokens,
            "flat": args.flat,
            "bare": args.bare,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(args.seed)
        latest = self.folder / LATEST
        state = load(latest) if latest.exists() else None
        if state:
            self._compare(state["settings"])
        self.tokenizer = self._tokenizer()
        self.network = self._network(state).to(self.device)
        if args.compile:
            torch._dynamo.config.recompile_limit = RECOMPILE_LIMIT
            for block in self.network.blocks:
                block.compile(dynamic=True)
        self.optimizers = _optimizers(self.network)
        for optimizer, kept in zip(self.optimizers, state["optimizers"] if state else (), strict=False):
            optimizer.load_state_dict(kept)
        self.progress = progress_of(state) if state else Progress()
        self.earlier = self.progress.seconds
        self.stopped = False
        self.check_seconds = self._seconds_of_a_check() if args.minutes else 0.0

    @property
    def share(self) -> float:
        """How much of the budget of tokens is spent, 0 to 1."""
        return self.progress.tokens / float(self.args.tokens)

    def run(self) -> None:
        """Train to the end of the budget, or of this leg."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        next_check = self.progress.tokens + self.args.check
        losses: list[torch.Tensor] = []
        stream = batches(
            self.tokenizer,
            self.args.batch,
            lambda: self.share,
            _most_turns,
            self.args.react,
            self.progress.place,
        )
        while self.share < 1 and not self._leg_is_over():
            place, batch = next(stream)
            losses.append(self._step(batch))
            self.progress = replace(
                self.progress,
                steps=self.progress.steps + 1,
                tokens=self.progress.tokens + batch.ids.numel(),
                seconds=self.earlier + time.monotonic() - self.begun,
                place=place,
            )
            if len(losses) == 50:
                self._log(loss=round(torch.stack(losses).mean().item(), 5))
                losses.clear()
            if self.progress.tokens >= next_check:
                next_check += self.args.check
                self._check()
        self._check()

    def _stop(self, *_: object) -> None:
        """End the leg after the step that is being made; the checkpoint is written."""
        self.stopped = True

    def _leg_is_over(self) -> bool:
        """Return whether somebody stopped it, or its minutes are spent but for those of the last check."""
        left = float("inf") if self.args.minutes is None else 60 * self.args.minutes
        return self.stopped or time.monotonic() - self.begun + self.check_seconds >= left

    def _step(self, batch: Batch) -> torch.Tensor:
        rate = _rate(self.progress.steps, self.share, self.args.flat)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["top_rate"] * rate
        bare = self.share < self.args.bare and self.progress.steps % 4 != 3
        loss = batch_loss(self.network, batch.to(self.device), bare=bare)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def _check(self) -> None:
        save(self.folder, self.network, self.optimizers, self.progress, self.settings)
        seen = teacher_forced(self.network, self.tokenizer, self.args.held_out, SEEN)
        other = teacher_forced(self.network, self.tokenizer, self.args.held_out, HELD_OUT_WORDS)
        self._log(held_out=seen, held_out_words=other)

    def _seconds_of_a_check(self) -> float:
        """Return how long a check may take: a few episodes of it, and doubled, for a shared machine."""
        begun, few = time.monotonic(), 4
        teacher_forced(self.network, self.tokenizer, few, SEEN)
        return 2 * 2 * (time.monotonic() - begun) * float(self.args.held_out) / few

    def _compare(self, kept: dict[str, Any]) -> None:
        free = ("tokens", "batch", "flat", "react", "bare")
        for key in self.settings:
            if key not in free and kept[key] != self.settings[key]:
                raise SettingsError(
                    f"{self.folder}: {key} was {kept[key]}, not {self.settings[key]}; take another folder"
                )

    def _network(self, state: dict[str, Any] | None) -> Network:
        network = Network(Shape(vocab=self.tokenizer.get_vocab_size(), **SIZE))
        if state:
            network.load_state_dict(state["weights"])
        return network

    def _tokenizer(self) -> Tokenizer:
        path = self.folder / "tokenizer.json"
        if not path.exists():
            learn(corpus(TOKENIZER_EPISODES), VOCABULARY).save(str(path))
        return load_tokenizer(path)

    def _log(self, **fields: Any) -> None:
        progress = self.progress
        line = json.dumps(
            {"steps": progress.steps, "tokens": progress.tokens, "seconds": round(progress.seconds), **fields}
        )
        print(line, flush=True)
        with (self.folder / "log.jsonl").open("a") as file:
            file.write(line + "\n")


def batch_loss(network: Network, batch: Batch, *, bare: bool = False) -> torch.Tensor:
    """Return mean cross-entropy of the tokens that the model writes; `bare` leaves the system turn out."""
    with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16):
        prefix = None if bare else network.hidden(batch.prefix)[1]
        hidden, _ = network.hidden(batch.ids, prefix)
        logits = network.logits(hidden.flatten(0, 1)[batch.places])
    return F.cross_entropy(logits.float(), batch.targets, ignore_index=IGNORED)


def _most_turns(share: float) -> int:
    return next((most for until, most in SHORT_FIRST if share < until), NO_MOST)


def _rate(step: int, share: float, flat: float) -> float:
    decay = 1.0 if share < flat else max(0.0, (1.0 - share) / (1.0 - flat))
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


def _count(text: str) -> int:
    if not (found := re.fullmatch(r"(\d+(?:\.\d+)?)([kM]?)", text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tokens such as 500k or 30M")
    return int(float(found[1]) * UNITS[found[2]])


if __name__ == "__main__":
    main()
