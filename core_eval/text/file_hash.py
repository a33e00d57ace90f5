"""The hash by which files are told apart: of models, adapters and the parts of bundles."""

import hashlib
from functools import cache
from pathlib import Path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def model_sha256(path: Path) -> str:
    """Return the same of a model's file, which may have gigabytes: once a process, unless it changes."""
    stat = path.stat()
    return _once(path, stat.st_size, stat.st_mtime_ns)


@cache
def _once(path: Path, _size: int, _changed: int) -> str:
    return sha256_of(path)
