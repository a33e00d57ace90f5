"""Evaluated beginnings of prompts, kept on disk for later processes: the system prompt with its tools.

A file holds what llama.cpp has in its context after exactly these tokens, evaluated in the same chunks, by
the same weights, library and settings: what follows is token for token what it would be without. It ends with
a line that holds the hash of the rest, since llama.cpp trusts what it reads.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from agents.backends.backend import Speed
from agents.backends.llama_engine import LlamaEngine

MOST_BYTES = 4 * 2**30
"""Of all files in the folder, and at most what is there and a tenth of what is free."""
END_BYTES = 256
"""Of a file's last line."""
SUFFIX = ".state"


def usual_folder() -> Path:
    """Return `$XDG_CACHE_HOME/pathrig/prompts`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "pathrig" / "prompts"


@dataclass(frozen=True)
class PromptCache:
    """The kept prompts of one model with its settings.

    Attributes:
        engine: the model, with one context.
        facts: of the model and its settings, all that a context depends on beside the engine's own.
        folder: of all files; that which was not used for the longest time is deleted first.
    """

    engine: LlamaEngine
    facts: Mapping[str, Any]
    folder: Path

    def speed(self, tokens: Sequence[int]) -> Speed | None:
        """Return the speed that was measured when this beginning was kept; None where it is not kept."""
        try:
            with self._file(tokens).open("rb") as file:
                told = _end(file).get("speed")
            return None if told is None else Speed(*told)
        except (OSError, ValueError, TypeError):
            return None

    def load(self, tokens: Sequence[int]) -> str:
        """Put a beginning into the context if it is kept; a damaged file is deleted, which a remark says."""
        path = self._file(tokens)
        if not path.is_file():
            return ""
        with contextlib.suppress(OSError, ValueError):
            with path.open("rb") as file:
                told = _end(file)
                file.seek(0)
                found = _hash_of(file, path.stat().st_size - END_BYTES)
            whole = (told.get("key"), told.get("sha256")) == (path.stem, found)
            if whole and self.engine.load_state(path, tokens):
                os.utime(path)
                return ""
        with contextlib.suppress(OSError):
            path.unlink()
        return "the kept prompt was damaged; it is evaluated anew"

    def save(self, tokens: Sequence[int], speed: Speed | None) -> str:
        """Keep the context, which holds exactly these tokens; return a remark where that fails."""
        path = self._file(tokens)
        part = path.with_name(f"{path.stem}-{os.getpid()}.part")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._make_room(self.engine.state_bytes + 4 * len(tokens) + END_BYTES):
                return ""
            if not self.engine.save_state(part, tokens):
                raise OSError("llama.cpp cannot write it")
            with part.open("r+b") as file:
                told = {
                    "key": path.stem,
                    "sha256": _hash_of(file, part.stat().st_size),
                    "speed": None if speed is None else (speed.prompt, speed.writing),
                }
                file.write(json.dumps(told).rjust(END_BYTES).encode())
            part.replace(path)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            return f"the prompt cannot be kept: {error}"
        return ""

    def _file(self, tokens: Sequence[int]) -> Path:
        engine = self.engine
        whole = {
            **self.facts,
            "library": engine.library,
            "machine": platform.machine(),
            "n_ctx": engine.n_ctx,
            "n_batch": engine.n_batch,
            "n_threads": engine.n_threads,
            "n_gpu_layers": engine.n_gpu_layers,
            "kv_type": engine.kv_type,
            "tokens": list(tokens),
        }
        digest = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{digest[:32]}{SUFFIX}"

    def _make_room(self, size: int) -> bool:
        """Delete files until another one of that size has room; return whether it has."""
        kept = sorted(((one.stat(), one) for one in self.folder.iterdir()), key=lambda one: one[0].st_mtime)
        held = sum(stat.st_size for stat, _ in kept)
        most = min(MOST_BYTES, held + shutil.disk_usage(self.folder).free // 10)
        if size > most:
            return False
        for stat, path in kept:
            if held + size <= most:
                break
            path.unlink(missing_ok=True)
            held -= stat.st_size
        return True


def _end(file: BinaryIO) -> dict[str, Any]:
    """Return a file's last line.

    Raises:
        OSError: the file is too short.
        ValueError: it is none.
    """
    file.seek(-END_BYTES, os.SEEK_END)
    told = json.loads(file.read())
    if not isinstance(told, dict):
        raise ValueError("no object")
    return told


def _hash_of(file: BinaryIO, size: int) -> str:
    found = hashlib.sha256()
    while size > 0 and (part := file.read(min(size, 2**20))):
        found.update(part)
        size -= len(part)
    return found.hexdigest()
