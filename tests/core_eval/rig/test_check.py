"""The self-test of a rig: what it finds on good rigs, on bad ones, and behind access lists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from bench_rig import BenchRover, on_a_pty
from bridge_rig import Mosquitto, ScriptedDevice
from driver_rig import rig_file
from own_broker import made
from standins.farmbot import FarmBot
from standins.grbl import Grbl

from configs.rigs_loader import load_rig
from configs.worlds_loader import load_world, make_simulator
from core_eval.cli.main import main
from core_eval.rig import check as rig_check
from core_eval.rig.check import RigReport, check_rig, ping_text
from devices.outcome import Outcome
from firmware_bridge import client
from firmware_bridge.client import RigClient
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.links import open_link
from firmware_bridge.mqtt.link import MqttPort
from firmware_bridge.result_cache import ResultCache

pytestmark = [pytest.mark.broker, pytest.mark.serial]

EVERYTHING = (
    "link",
    "status",
    "safe tools",
    "watchdog",
    "without host",
    "ping",
    "clock",
    "lock",
    "tools",
    "once",
    "deadline",
    "stop",
    "reset",
)


STOP_SECONDS = rig_check.STOP_SECONDS


@pytest.fixture(autouse=True)
def _short_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rig_check, "LOOK_SECONDS", 0.3)
    monkeypatch.setattr(rig_check, "STOP_SECONDS", 0.5)
    monkeypatch.setattr(client, "OPEN_SECONDS", 1.0)


def verdicts(url: str, **options: bool) -> dict[str, str]:
    return {finding.check: finding.verdict for finding in check_rig(load_rig(url), **options).findings}


@contextmanager
def farm(url: str) -> Iterator[DeviceEndpoint]:
    with DeviceEndpoint(make_simulator(load_world("farm_rover")), MqttPort(url)) as endpoint:
        yield endpoint


def test_a_good_rig_passes_everything_and_nothing_moves(
    mosquitto_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where a busy machine is late with the pings, the clock is in doubt by as much, and a stop takes longer.
    monkeypatch.setattr(rig_check, "STOP_SECONDS", STOP_SECONDS)
    url = f"{mosquitto_url}/check-good"
    with farm(url) as endpoint:
        assert verdicts(url) == {
            **dict.fromkeys(EVERYTHING, "ok"),
            "may write call": "ok",
            "may write estop": "ok",
            "sensors": "skipped",
            "keeper": "none",
        }
        assert endpoint.state == "online"
        with RigClient(open_link(url)) as host:
            host.open()
            host.estop()
        # found stopped, left stopped
        assert verdicts(url)["stop"] == "ok" and endpoint.state == "estop"


def stops(report: RigReport) -> dict[str, tuple[str, str]]:
    names = ("watchdog", "keeper", "without host")
    return {one.check: (one.verdict, one.text) for one in report.findings if one.check in names}


KEPT = ("ok", "a second process stops it if the host dies, or is silent for 3 s")


def test_no_watchdog_is_claimed_for_a_board_that_has_none(tmp_path: Path) -> None:
    with FarmBot() as board:
        farmbot = check_rig(load_rig(str(rig_file(tmp_path, "farmbot-serial", board.url))))
    guards = "pin guards switch water and spray off after 180 s; a move goes on to its end"
    assert stops(farmbot) == {
        "watchdog": ("none", "the board has none that this host knows of"),
        "keeper": KEPT,
        "without host": ("ok", f"if host and keeper die: {guards}"),
    }
    with Grbl() as machine:
        grbl = check_rig(load_rig(str(rig_file(tmp_path, "grbl-serial", machine.url))))
    assert stops(grbl)["without host"] == ("none", "if host and keeper die: nothing stops it")
    assert (grbl.facts["watchdog_ms"], grbl.facts["keeper"], grbl.failed) == (None, True, [])


def test_a_boards_own_watchdog_is_told_as_its_own() -> None:
    with on_a_pty(BenchRover()) as url:
        report = check_rig(load_rig(url), only_look=True)
    assert stops(report) == {
        "watchdog": ("ok", "the board's own: 60000 ms"),
        "keeper": KEPT,
        "without host": ("ok", "if host and keeper die: the board stops after 60000 ms"),
    }


def test_a_rig_that_another_host_drives_is_not_disturbed(mosquitto_url: str) -> None:
    url = f"{mosquitto_url}/check-busy"
    device = ScriptedDevice()
    with DeviceEndpoint(device, MqttPort(url)), RigClient(open_link(url)) as host:
        host.open()
        found = verdicts(url)
        assert (found["link"], found["ping"], found["stop"]) == ("ok", "ok", "skipped")
        assert not device.made_safe.is_set() and not device.executed
        assert host.call("echo", {}).status == "ok"


def test_only_looking_calls_and_stops_nothing() -> None:
    rover = BenchRover()
    with on_a_pty(rover) as url:
        found = verdicts(url, only_look=True)
    assert found["clock"] == "ok" and "stop" not in found
    assert not rover.calls


class Careless(BenchRover):
    """Answers what it was not asked, knows every tool, and counts."""

    def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
        self.calls.append(tool)
        return Outcome("ok", {"count": len(self.calls)})


def test_a_careless_rig_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResultCache, "get", lambda *_: None)
    monkeypatch.setattr(DeviceEndpoint, "_link_ms", lambda _: 7)
    monkeypatch.setattr(DeviceEndpoint, "_go_safe", lambda *_, **__: None)
    with on_a_pty(Careless()) as url:
        report = check_rig(load_rig(url))
    failed = {finding.check: finding.text for finding in report.failed}
    assert {"clock", "tools", "stop"} <= failed.keys()
    assert "does not fit" in failed["tools"] and "answered with ok instead of invalid" in failed["tools"]


def test_a_rig_that_runs_an_id_twice_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResultCache, "get", lambda *_: None)
    monkeypatch.setattr("firmware_bridge.endpoint.refusal", lambda *_: None)
    calls: list[str] = []

    class Honest(BenchRover):
        def execute(self, tool: str, arguments: Mapping[str, Any], stop: Event) -> Outcome:
            calls.append(tool)
            if tool == "sense_battery":
                return Outcome("ok", {"battery": 0.5}, t=float(len(calls)))
            return Outcome("invalid", code="unknown_tool", message="no such tool")

    with on_a_pty(Honest()) as url:
        failed = {finding.check for finding in check_rig(load_rig(url)).failed}
    assert {"once", "deadline"} <= failed


def test_missing_permissions_are_found(tmp_path: Path) -> None:
    files, broker = made(tmp_path / "broker")
    host, rover = files.hosts[0], files.devices[0]
    with broker, farm(rover.url):
        assert verdicts(host.url)["may write estop"] == "ok"
        # a device's account may neither call nor stop
        assert verdicts(rover.url) == {"link": "failed", "may write call": "failed"}


@pytest.mark.parametrize(
    ("line", "finding"),
    [
        ("topic write pathrig/v1/+/estop", "may write estop"),
        ("topic readwrite pathrig/v1/+/lease", "lock"),
        ("topic read pathrig/v1/+/result", "ping"),
    ],
)
def test_each_permission_that_a_host_lacks_has_its_finding(tmp_path: Path, line: str, finding: str) -> None:
    files, broker = made(tmp_path / "broker")
    acl = files.config.parent / "acl"
    assert line in acl.read_text()
    acl.write_text(acl.read_text().replace(f"{line}\n", ""))
    with broker, farm(files.devices[0].url):
        assert verdicts(files.hosts[0].url)[finding] == "failed"


def test_the_command_tells_it_as_a_table_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rigs", "check", "sim:farm_rover", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] and {check["check"] for check in answer["checks"]} >= set(EVERYTHING) - {"watchdog"}
    assert abs(answer["clock_drift"]) < 0.1
    with Mosquitto() as broker:
        assert main(["rigs", "check", f"{broker.url}/nobody"]) == 3
    captured = capsys.readouterr()
    assert "failed" in captured.out and "no response" in captured.err


def test_a_broker_that_holds_small_messages_back_is_hinted_at() -> None:
    assert "set_tcp_nodelay" in ping_text([0.044, 0.045, 0.046], brokered=True)
    assert "set_tcp_nodelay" not in ping_text([0.044, 0.045, 0.046], brokered=False)
    assert ping_text([0.001, 0.002, 0.05], brokered=True) == "3 of 3, median 2.00 ms, longest 50.00 ms"
