"""Standard streams that discard what is printed after their terminal was closed.

A closed terminal ends a run by SIGHUP, unless it was started with `nohup`. A failed print must neither end
the run nor prevent the stop of a rig.
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
    """Replace standard output and standard error by such streams, if they are terminals."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and stream.isatty():
            stream.flush()
            raw = _Terminal(stream.fileno(), "wb", closefd=False)
            outliving = io.TextIOWrapper(
                io.BufferedWriter(raw), stream.encoding, errors="replace", line_buffering=True
            )
            setattr(sys, name, outliving)
