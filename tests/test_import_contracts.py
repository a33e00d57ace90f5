"""The house's one direction of imports, and what may not be loaded before it is used."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_imports_point_one_way() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_no_module_imports_what_only_extras_install_at_its_top() -> None:
    names = (
        "agents.catalog configs.tasks_loader configs.worlds_loader core_eval.cli.main firmware_bridge.client"
    )
    code = (
        "import sys, importlib\n"
        f"for name in {names.split()!r}: importlib.import_module(name)\n"
        "extras = ('llama_cpp', 'mujoco', 'torch', 'scipy', 'amqtt', 'starlette', 'uvicorn')\n"
        "print([m for m in extras if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
