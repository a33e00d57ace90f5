"""An unexpected exception in one line, for whoever wrote the code that raised it."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

STANDARD_LIBRARY = sysconfig.get_path("stdlib")


def described(error: BaseException) -> str:
    """Return its type, its text, and where it was raised: the last place outside the standard library."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"SyntaxError: {error.msg}, at {_place(error.filename, error.lineno)}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith((STANDARD_LIBRARY, "<"))] or frames
    return f"{type(error).__name__}: {error}" + (
        f", at {_place(own[-1].filename, own[-1].lineno)}" if own else ""
    )


def _place(file: str, line: int | None) -> str:
    path = Path(file)
    return f"{path.parent.name}/{path.name}:{line}"
