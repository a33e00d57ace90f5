"""The shipped model's tokenizer: byte-level BPE that llama.cpp runs as `gpt2` with the pre-tokenizer `qwen2`.

A thing that is to be copied must be the same tokens in the prompt, the tool result and the call. Digits and
the minus sign are therefore single tokens, and no merge joins a space with a word that names a thing; only
words that are never copied get a form with a leading space.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split
from tokenizers.trainers import BpeTrainer

from training.arm_episodes import ARM
from training.chat_format import CONTROL_TOKENS, MARK_TOKENS
from training.conversations import NATIVE, REACT
from training.rover_world import ROVER, WORDS
from training.system_turns import SENTENCES
from training.transcripts import episode

QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LEARNING_SPLIT = r"_?\p{L}+|\p{N}|-|_| ?[^\s\p{L}\p{N}_-]+[\r\n]*|\s*[\r\n]+|\s+"
SPACE = "Ġ"
COPIED = (
    *("plant", "tomato", "vine", "bed", "tree", "row", "pepper", "melon", "bush"),
    *("box", "panel", "cup", "bottle", "tin", "block", "gear", "tube", "bin", "tray", "basket", "top"),
    *WORDS,
    *("base", "collection", "water", "station", "pesticide", "refill", "charging", "pad"),
    *("x", "y", "z", "yaw", "name"),
)
WORDS_AT_LEAST = 40


def corpus(count: int) -> list[str]:
    """Return texts to learn from: the system turns often, and episodes with each scaffold."""
    systems = [put.system_turn(device, None) for device in (ROVER, ARM) for put in (NATIVE, REACT)]
    return [*systems, *SENTENCES] * max(1, count // 50) + [
        "".join(text for text, _ in (REACT if seed % 5 == 0 else NATIVE).pieces(episode(seed)))
        for seed in range(count)
    ]


def learn(texts: Iterable[str], size: int) -> Tokenizer:
    """Return a tokenizer of about `size` tokens. The marks are left out of the text that it learns from."""
    marks = re.compile("|".join(re.escape(token) for token in CONTROL_TOKENS + MARK_TOKENS))
    parts = [part for text in texts for part in marks.split(text) if part]
    raw = Tokenizer(BPE())
    raw.pre_tokenizer = Sequence(
        [Split(Regex(LEARNING_SPLIT), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    trainer = BpeTrainer(
        vocab_size=size, min_frequency=3, show_progress=False, initial_alphabet=ByteLevel.alphabet()
    )
    raw.train_from_iterator(parts, trainer)
    state = json.loads(raw.to_str())["model"]
    vocab: dict[str, int] = dict(state["vocab"])
    merges = [(left, right) for left, right in state["merges"]]
    words = Counter(word for part in parts for word in re.findall(r" ([A-Za-z]+)", part))
    for word, times in sorted(words.items()):
        if times >= WORDS_AT_LEAST and word in vocab and word.lower() not in COPIED:
            merges.append((SPACE, word))
            vocab[SPACE + word] = len(vocab)
    return _assemble(vocab, merges)


def _assemble(vocab: dict[str, int], merges: list[tuple[str, str]]) -> Tokenizer:
    tokenizer = Tokenizer(BPE(vocab=vocab, merges=merges))
    tokenizer.pre_tokenizer = Sequence(
        [Split(Regex(QWEN2_SPLIT), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens(
        [AddedToken(text, normalized=False) for text in CONTROL_TOKENS + MARK_TOKENS]
    )
    return tokenizer


def load(path: Path) -> Tokenizer:
    """Return a tokenizer that was saved with `Tokenizer.save`."""
    return Tokenizer.from_file(str(path))
