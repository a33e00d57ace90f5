"""Ctrl-C while the command is still loading its modules ends it without a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# A real signal, at the moment at which a certain module begins to load.
CODE = """
import os, signal, sys

class Striking:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

wanted = sys.argv[1]
sys.meta_path.insert(0, Striking())
from core_eval.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    "module",
    ["typer", "core_eval.cli.run", "core_eval.run.plan", "mujoco", "configs.tasks_loader"],
)
def test_an_interrupt_while_modules_load_is_no_traceback(tmp_path: Path, module: str) -> None:
    command = ["run", "--task", "box_to_left_bin", "--rig", "sim:robotic_arm", "--agent", "oracle"]
    done = subprocess.run(
        [sys.executable, "-c", CODE, module, *command], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
