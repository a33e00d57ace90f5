"""The process of one run of `pathrig serve`: asks whether the rig lives, then runs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from core_eval.cli.main import DONE, main
from core_eval.serve.service import SILENT
from firmware_bridge.process_keeper import watch_parent


def work(rig: str, run: Sequence[str], *, ask: bool, allow_programs: bool) -> int:
    """Run `pathrig run` with these arguments; return its exit status, or `SILENT`."""
    # Whoever killed the service: the rig is stopped.
    watch_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    allowed = ["--allow-programs"] if allow_programs else []
    if ask:
        status = main(["rigs", "check", rig, "--look", *allowed])
        if status != DONE:
            return status if status > 128 else SILENT
    return main(["run", *run, *allowed])


if __name__ == "__main__":
    rig, ask, allow, *run = sys.argv[1:]
    sys.exit(work(rig, run, ask=ask == "ask", allow_programs=allow == "allow"))
