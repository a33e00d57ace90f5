"""The logs of earlier schema versions that are kept in `tests/core_eval/log/old_logs`."""

import gzip
from pathlib import Path

from paths import TESTS

FOLDER = TESTS / "core_eval" / "log" / "old_logs"


def old_log(version: int, folder: Path) -> Path:
    """A copy of the log of a schema version, in a folder."""
    path = folder / f"schema_{version}.db"
    path.write_bytes(gzip.decompress((FOLDER / f"{path.name}.gz").read_bytes()))
    return path
