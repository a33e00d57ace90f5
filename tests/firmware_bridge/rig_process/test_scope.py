"""What keeps a rig process alive where its host's service ends: its own scope. systemd-run is a script."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firmware_bridge.rig_process import link

SYSTEMD_RUN = """#!/bin/sh
echo "$@" >> {log}
[ -e {broken} ] && exit 1
while [ $# -gt 0 ]; do
    case "$1" in
        --) shift; break;;
        -*) shift;;
        *) break;;
    esac
done
exec "$@"
"""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "systemd-run"
    path.write_text(SYSTEMD_RUN.format(log=tmp_path / "log", broken=tmp_path / "broken"))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(link, "SYSTEMD", tmp_path)
    return path


@pytest.mark.parametrize(("user", "options"), [(0, ""), (1000, "--user ")])
def test_under_systemd_it_gets_a_scope_of_its_own(
    tool: Path, user: int, options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    expected = [str(tool), *options.split(), "--scope", "--quiet", "--collect", "--"]
    assert link.scope() == expected
    assert (tool.parent / "log").read_text() == f"{options}--scope --quiet --collect true\n"


def test_without_a_manager_to_ask_or_without_systemd_there_is_none(
    tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tool.parent / "broken").touch()
    assert link.scope() == []
    (tool.parent / "broken").unlink()
    monkeypatch.setattr(link, "SYSTEMD", tool.parent / "none")
    assert link.scope() == []


def test_a_rig_process_in_a_scope_keeps_its_socket(tool: Path) -> None:
    opener = link.Opener("firmware_bridge.serial.link:SerialLink", {"url": "serial:///dev/no-such-port"})
    with pytest.raises(link.LinkError, match="there is no serial port /dev/no-such-port"):
        link.RigProcessLink(opener)
    assert "--scope --quiet --collect -- " in (tool.parent / "log").read_text()
