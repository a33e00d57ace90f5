"""Signs a run's chains with the user's key on this machine: Ed25519 (RFC 8032)."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from configs.programs import user_file
from core_eval.log.chain import heads, signed_text
from core_eval.log.connection import insert

KEY_FILE = "signing.key"


class KeyFileError(Exception):
    """The key cannot be read or made; one line."""


def sign(content: bytes) -> tuple[bytes, bytes]:
    """Return the public key of this user and machine, and its signature; at first use a key is made.

    Raises:
        KeyFileError: the key cannot be read or made.
    """
    # Imported here: most commands sign nothing.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    file = user_file(KEY_FILE)
    try:
        if not file.exists():
            _make(file, Ed25519PrivateKey.generate().private_bytes_raw())
        key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(file.read_text(encoding="ascii").strip()))
    except (OSError, ValueError) as error:
        raise KeyFileError(f"{file}: cannot be used as the key that signs logs: {error}") from None
    return key.public_key().public_bytes_raw(), key.sign(content)


def sign_run(connection: sqlite3.Connection, run: int, ended: float) -> None:
    """Sign the chains of a run, if it has any, and store the signature; say where that cannot be.

    The signature of a run that was resumed takes the place of its earlier one, unless an episode that was
    signed is not as it was: then the earlier one stays, which does not fit.
    """
    if not (chains := heads(connection, run)):
        return
    of_run = "FROM signature WHERE run_id = ?"
    for (earlier,) in connection.execute(f"SELECT content {of_run}", (run,)).fetchall():
        if any(episode not in chains for episode in json.loads(earlier)["episodes"]):
            print(f"pathrig: run {run}: what was signed has changed since", file=sys.stderr)
            return
    content = signed_text(run, ended, chains)
    try:
        key, signature = sign(content.encode())
    except KeyFileError as error:
        print(f"pathrig: run {run} is chained, not signed: {error}", file=sys.stderr)
        return
    connection.execute(f"DELETE {of_run}", (run,))
    insert(connection, "signature", run_id=run, content=content, public_key=key, signature=signature)


def is_signed(content: bytes, public: bytes, signature: bytes) -> bool:
    """Return whether the signature of these bytes is that of the key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, content)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def key_name(public: bytes) -> str:
    """Return how a key is named: the first half of the SHA-256 of its public part, in hexadecimal."""
    return hashlib.sha256(public).hexdigest()[:32]


def own_key() -> str | None:
    """Return the name of this user's key on this machine; None before its first use."""
    if not user_file(KEY_FILE).exists():
        return None
    try:
        return key_name(sign(b"")[0])
    except KeyFileError:
        return None


def _make(file: Path, key: bytes) -> None:
    """Write a new key, unless another process is the first."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Only its owner reads it.
    handle, name = mkstemp(dir=file.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as written:
            written.write(key.hex() + "\n")
        with suppress(FileExistsError):
            file.hardlink_to(part)
    finally:
        part.unlink()
