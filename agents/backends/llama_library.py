"""llama.cpp's C functions, and its messages while it loads a model."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agents.agent import AgentSpecError

BUFFER = re.compile(r"(\S+)\s+(model|KV|RS|compute|output) buffer size\s*=\s*([\d.]+) MiB")
"""A line with the memory that llama.cpp allocated on a device, and its purpose."""
FAULT = re.compile(r"(?:gguf_init\w*|error loading model|failed to [\w ]*|error)\s*:\s*(.+)", re.IGNORECASE)
DEBUG, ERROR = 1, 4
"""`ggml_log_level` of ggml."""
_callbacks: list[Any] = []
_listeners: list[Said] = []


class Said:
    """llama.cpp's messages within `listening`."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, str]] = []

    @property
    def fault(self) -> str:
        """The reason for a failure; empty if it gave none."""
        found = [
            match[1].strip() for level, line in self.lines if level >= ERROR and (match := FAULT.search(line))
        ]
        return found[0] if found else ""

    def megabytes(self, *kinds: str) -> float:
        """Return the memory that was taken for these kinds of buffers, MiB."""
        found = (match for _, line in self.lines if (match := BUFFER.search(line)))
        return sum(float(match[3]) for match in found if match[2] in kinds)


def load_llama_cpp() -> Any:
    """Return the C functions of llama-cpp-python; llama.cpp no longer prints.

    Raises:
        AgentSpecError: it is not installed.
    """
    try:
        from llama_cpp import llama_cpp
    except ImportError as error:
        raise AgentSpecError(
            f"the llama agent needs llama-cpp-python ({error}): pip install 'pathrig[llama]'"
        ) from None
    if not _callbacks:
        # llama.cpp keeps the pointer, so the object must stay alive.
        _callbacks.append(llama_cpp.llama_log_callback(_hear))
    llama_cpp.llama_log_set(_callbacks[0], ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    return llama_cpp


@contextmanager
def listening() -> Iterator[Said]:
    """Collect llama.cpp's messages within the block."""
    said = Said()
    _listeners.append(said)
    try:
        yield said
    finally:
        _listeners.remove(said)


def _hear(level: int, text: bytes, _data: object) -> None:
    if level == DEBUG:
        return
    for said in _listeners:
        said.lines.append((level, text.decode(errors="replace").strip()))
