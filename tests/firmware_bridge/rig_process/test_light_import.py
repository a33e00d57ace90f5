"""A run waits for its rig process to start: that one imports a link, and no scorer."""

from __future__ import annotations

import json
import subprocess
import sys

LISTING = """
import json, sys
before = set(sys.modules)
import firmware_bridge.rig_process.rig_side, firmware_bridge.serial.link
print(json.dumps(sorted(set(sys.modules) - before)))
"""
PACKAGES = {"core_eval", "devices", "firmware_bridge", "serial"}


def test_a_rig_process_imports_only_links():
    result = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True, check=True)
    loaded = json.loads(result.stdout)
    packages = {name.partition(".")[0] for name in loaded if not name.startswith("_sysconfigdata")}
    assert packages - set(sys.stdlib_module_names) == PACKAGES
    assert {name for name in loaded if name.startswith(("core_eval.", "devices."))} == {
        "core_eval.call_status", "core_eval.text", "core_eval.text.foreign_json", "devices.outcome",
        "devices.rig_motion",
    }  # fmt: skip
