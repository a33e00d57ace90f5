"""Kinds of links: another package's scheme works like ours, and no generic module names one."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from paths import ROOT

from firmware_bridge.links import LINK_TYPES

ROOMS = ("devices", "firmware_bridge", "agents", "sims", "configs", "core_eval")
OWN = {
    "firmware_bridge/broker/rigs.py": "the URLs that the broker's own files hold",
    "firmware_bridge/mqtt/address.py": "MQTT's own URLs",
    "firmware_bridge/serial/address.py": "the serial line's own URLs",
    "firmware_bridge/http_server.py": "`socket` is what asyncio calls a transport's socket",
}
SCHEMES = {"mqtts", "rfc2217", "socket"}
"""Those of ours that are no name of anything else."""

A_LINK_OF_ITS_OWN = """
    from firmware_bridge.links import LinkType
    from firmware_bridge.local.link import LocalLink

    def open_can(rig):
        from configs.worlds_loader import load_world, make_simulator
        return LocalLink(make_simulator(load_world("farm_rover")), name=rig.url)

    def fault(parts, spawned):
        return None if parts.netloc else "the bus is missing, as in can://bus0/rover"

    CAN = LinkType("can", "can://BUS/RIG", open_can, fault)
"""
USES_IT = """
    import json
    from configs.errors import ConfigError
    from configs.rigs_loader import load_rig
    from core_eval.rig.opening import open_rig

    def says(url, text=None):
        try:
            load_rig(url)
        except ConfigError as error:
            return str(error)

    with open_rig(load_rig("can://bus0/rover")) as session:
        simulated = session.initialise("farm_rover", {}, 1, required=True)
        outcome = session.call("unlock_safety_mode", {}, "one")
    print(json.dumps({
        "simulated": simulated, "status": outcome.status, "sensors": len(session.recorder.last_samples),
        "no bus": says("can:///rover"), "no scheme": says("canopen://bus0/rover"),
    }))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """What an installed package of somebody else's looks like."""
    (tmp_path / "pathrig_can.py").write_text(textwrap.dedent(A_LINK_OF_ITS_OWN))
    info = tmp_path / "pathrig_can-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pathrig-can\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pathrig.links]\ncan = pathrig_can:CAN\n")
    return tmp_path


def run(package: Path, *command: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(package), str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": path}, cwd=package, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_a_package_adds_a_kind_of_link_and_no_module_of_ours_changes(package: Path) -> None:
    done = run(package, "-c", textwrap.dedent(USES_IT))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["simulated"], found["status"]) == (True, "ok") and found["sensors"] > 0
    assert found["no bus"] == "'can:///rover': the bus is missing, as in can://bus0/rover"
    assert "no rig 'canopen://bus0/rover'" in found["no scheme"]


@pytest.mark.slow
def test_a_package_whose_link_cannot_be_imported_is_named_in_one_line(package: Path) -> None:
    (package / "pathrig_can.py").write_text("import no_such_module\n")
    command = ("-m", "core_eval.cli.main", "rigs", "check", "can://bus0/rover")
    done = run(package, *command)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert "pathrig-can registers 'can' in pathrig.links" in done.stderr


def test_our_own_schemes_are_registered() -> None:
    assert {"mqtt", "mqtts", "serial", "socket", "rfc2217"} <= set(LINK_TYPES)
    assert {kind.family for kind in LINK_TYPES.values()} >= {"mqtt", "serial"}


@pytest.mark.parametrize("room", ROOMS)
def test_no_generic_module_names_a_scheme(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        if str(path.relative_to(ROOT)) not in OWN and "micropython" not in path.parts:
            strings = {
                node.value
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
            assert not SCHEMES & strings, path
