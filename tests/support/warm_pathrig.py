"""`pathrig` commands without the time of its imports, for tests whose subject is what a command does.

Each is a process of its own still, forked from one that has imported the modules; see `warm_server`.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from uuid import uuid4

from paths import ROOT

HERE = Path(__file__).parent


@cache
def warm_pathrig() -> list[str]:
    """The words of a command line to which a verb and its options are added."""
    # The workers of a session share a server, which ends with the session.
    session = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid4().hex
    folder = Path(tempfile.gettempdir()) / f"pathrig-warm-{run}"
    folder.mkdir(mode=0o700, exist_ok=True)
    address = folder / "socket"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists():
            server = subprocess.Popen(
                [sys.executable, str(HERE / "warm_server.py"), str(address), str(session)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
                start_new_session=True,
            )
            assert server.stdout is not None
            # It closes its output when it is ready.
            assert server.stdout.read() == b"" and address.exists()
            server.stdout.close()
    return [sys.executable, "-I", "-S", str(HERE / "warm_client.py"), str(address)]
