"""The SQL functions of our connections beyond SQLite's own."""

from __future__ import annotations

import hashlib
import json
import sqlite3

from core_eval.log.truth_changes import unpacked


def register(connection: sqlite3.Connection) -> None:
    """Add the functions: `sqlar_uncompress`, which only SQLite's own shell has, and `path_fingerprint`."""
    connection.create_function("sqlar_uncompress", 2, unpacked, deterministic=True)
    connection.create_function("path_fingerprint", 1, path_fingerprint, deterministic=True)


def path_fingerprint(text: bytes) -> str | None:
    """Return what is equal for identical episodes; None if a column is damaged.

    Args:
        text: JSON of a list: task, digest of its definition, init, world, device, agent, scaffold, agent_info
            (init and agent_info as the JSON texts of their columns), then a list for each step: tool,
            arguments, status, result, error code.
    """
    try:
        whole = json.loads(text)
        for place in (2, 7):
            whole[place] = json.loads(whole[place] or "null")
    except (ValueError, RecursionError):
        return None
    *start, steps = whole
    return hashlib.sha256(json.dumps([*start, *steps], sort_keys=True).encode()).hexdigest()
