"""Detects the end of the parent process."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

PERIOD = 0.2
"""Time between two checks, s."""


def watch_parent(on_gone: Callable[[], None]) -> None:
    """Call `on_gone` once, on another thread, when the parent process has ended."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PERIOD)
        on_gone()

    threading.Thread(target=watch, name="parent watch", daemon=True).start()
