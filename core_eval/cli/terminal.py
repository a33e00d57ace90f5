"""Standard streams that outlive their terminal: what is printed to one that was closed is dropped.

Whoever closes a terminal ends a run by SIGHUP, or lets it go on with `nohup`; a line that cannot be printed
must do neither, and must not keep a rig from its stop.
"""

from __future__ import annotations

import errno
import io
import sys
from typing import Any


class _Terminal(io.FileIO):
    def write(self, text: Any) -> int:
        try:
            return super().write(text)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return len(text)


def survive_hangup() -> None:
    """Put such streams in the place of standard output and error, where these are terminals."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and stream.isatty():
            stream.flush()
            raw = _Terminal(stream.fileno(), "wb", closefd=False)
            outliving = io.TextIOWrapper(
                io.BufferedWriter(raw), stream.encoding, errors="replace", line_buffering=True
            )
            setattr(sys, name, outliving)
