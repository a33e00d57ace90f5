"""The meter that a rig's file names: a plug behind a real broker, a Modbus meter behind a real server."""

from __future__ import annotations

import json
import secrets
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest
from bridge_rig import free_port
from paho.mqtt.enums import CallbackAPIVersion

from configs.errors import ConfigError
from configs.meter_config import MeterConfig
from configs.rigs_loader import load_rig
from core_eval.cli.main import main
from core_eval.log import LogReader
from core_eval.run.resource_usage import UsageMonitor
from core_eval.run.rig_meter import RigMeter, close_meters
from firmware_bridge.link import LinkError

RUN = ["run", "--task", "users_list", "--agent", "oracle", "--no-floors"]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_meters()


class Plug:
    """Answers a question with its power, as Tasmota does; before that it keeps a retained reading."""

    def __init__(self, url: str) -> None:
        self.name, self.unanswered = f"plug-{secrets.token_hex(4)}", threading.Semaphore(0)
        self.watts: float | None = 12.5
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._answer
        self._client.connect("127.0.0.1", int(url.rpartition(":")[2]))
        self._client.subscribe(f"cmnd/{self.name}/Status", 1)
        self._client.publish(f"stat/{self.name}/STATUS10", self._power(900), 1, retain=True)
        self._client.loop_start()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    @staticmethod
    def _power(watts: float) -> str:
        return json.dumps({"StatusSNS": {"ENERGY": {"Power": watts}}})

    def _answer(self, *_: object) -> None:
        if self.watts is not None:
            self._client.publish(f"stat/{self.name}/STATUS10", self._power(self.watts), 1)
        else:
            self.unanswered.release()


@pytest.fixture
def plug(mosquitto_url: str) -> Iterator[Plug]:
    made = Plug(mosquitto_url)
    yield made
    made.close()


def rig_file(folder: Path, url: str, plug: str, more: str = "") -> str:
    file = folder / "rig.yaml"
    file.write_text(
        f"name: shop\nurl: sim:crud\nworld: crud\nmeter:\n  name: plug\n  url: {url}\n"
        f"  topic: stat/{plug}/STATUS10\n  key: StatusSNS.ENERGY.Power\n"
        f"  ask: {{topic: cmnd/{plug}/Status, payload: '10'}}\n  every: 0.1\n{more}"
    )
    return str(file)


def test_energy_of_an_episode_and_above_idle_is_that_of_the_plug(
    plug: Plug,
    mosquitto_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("core_eval.run.plan.is_model", lambda _name: True)
    monkeypatch.setattr("core_eval.run.resource_usage.IDLE_S", 0.2)
    rig, db = rig_file(tmp_path, mosquitto_url, plug.name), tmp_path / "a.db"
    main(["doctor", rig, "--agent", "oracle", "--json"])
    found = {one["check"]: one["text"] for one in json.loads(capsys.readouterr().out)}
    assert found["meter"] == "plug reads 12.5 W"
    assert main([*RUN, "--rig", rig, "--db", str(db)]) == 0
    with LogReader(db) as reader:
        (row,) = reader.episodes()
        idle = reader.run(row.run_id).host["idle"]
        assert (idle["meter"], idle["watts"]) == ("plug", pytest.approx(12.5, abs=0.05))
        assert row.wall_seconds is not None and reader.machine_cost(row.id).meter == "plug"
        # The meter's seconds lie within those of the episode.
        assert 0 < row.scores["energy"] <= 12.5 * row.wall_seconds
        assert row.scores["energy_above_idle"] == row.scores["energy"] - idle["watts"] * row.wall_seconds


def test_a_plug_that_falls_silent_leaves_the_energy_unknown(plug: Plug, mosquitto_url: str) -> None:
    """The retained reading of 900 W counts nowhere."""
    now = [0.0]
    file = MeterConfig(
        name="plug",
        url=mosquitto_url,
        topic=f"stat/{plug.name}/STATUS10",
        key="StatusSNS.ENERGY.Power",
        ask={"topic": f"cmnd/{plug.name}/Status"},
        every=0.1,
        scale=2.0,
    )
    meter = RigMeter(file, lambda: now[0])
    meter.ensure()
    try:
        with UsageMonitor(meter.meter()) as whole:
            now[0] = 4.0
        assert (whole.cost.energy, whole.cost.meter, whole.failure) == (100.0, "plug", "")
        plug.watts = None
        # What it said last has come once it has been asked twice more.
        assert plug.unanswered.acquire(timeout=5) and plug.unanswered.acquire(timeout=5)
        with UsageMonitor(meter.meter()) as lost:
            now[0] += 10.5
        assert lost.cost.energy is None and lost.failure == "plug gave no reading for 10 s"
    finally:
        meter.close()


def test_a_meter_that_cannot_be_read_is_one_line_and_the_run_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = rig_file(tmp_path, f"mqtt://127.0.0.1:{free_port()}", "plug")
    assert main([*RUN, "--rig", rig, "--db", str(tmp_path / "a.db")]) == 0
    assert "energy unknown: plug gave no reading for 10 s: cannot reach the broker" in " ".join(
        capsys.readouterr().out.split()
    )
    with LogReader(tmp_path / "a.db") as reader:
        (row,) = reader.episodes()
        assert row.scores["energy"] is None and "energy_above_idle" not in row.scores


def test_a_meter_that_cannot_be_reached_is_not_tried_again_before_each_episode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries, now = [], [0.0]

    def silent(*_: object) -> None:
        tries.append(now[0])
        raise LinkError("does not answer within 5 s")

    monkeypatch.setattr("core_eval.run.rig_meter.PlugSource", silent)
    meter = RigMeter(MeterConfig(url="mqtt://plug", topic="a"), lambda: now[0])
    for now[0] in (0.0, 1.0, 59.0, 61.0, 62.0):
        meter.ensure()
    assert tries == [0.0, 61.0]


def test_a_modbus_meter(tmp_path: Path) -> None:
    pytest.importorskip("pymodbus")
    from standins.modbus_board import ModbusBoard

    with ModbusBoard() as board:
        for kind, watts in (("uint16", 51.2), ("uint32", struct.unpack(">I", b"\2\0\0d")[0] / 10)):
            meter = RigMeter(MeterConfig(url=board.url, address=0, type=kind, scale=0.1))
            meter.ensure()
            assert meter.watts() == pytest.approx(watts)
            meter.close()
        meter = RigMeter(MeterConfig(url=board.url, address=40, every=0.1, longest_gap=0.3))
        meter.ensure()
        with pytest.raises(
            ValueError, match=r"meter gave no reading for 0\.3 s: The device refuses read_input"
        ):
            meter.watts()
        meter.close()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("url: http://plug", "mqtt, modbus, serial, not http"),
        ("url: mqtt://h", "needs `topic`"),
        ("url: modbus://h, topic: a, address: 3", "has no `topic`"),
        ("url: mqtt://h, topic: tele/+/SENSOR", "one topic"),
        ("url: mqtt://h, topic: a, every: 20", "longer than `every`"),
        ("url: mqtt://h, topics: a", "did you mean 'topic'"),
    ],
)
def test_a_wrong_meter_is_told_with_its_key(tmp_path: Path, keys: str, said: str) -> None:
    (tmp_path / "rig.yaml").write_text(f"name: a\nurl: sim:crud\nworld: crud\nmeter: {{{keys}}}\n")
    with pytest.raises(ConfigError) as caught:
        load_rig(str(tmp_path / "rig.yaml"))
    assert said in str(caught.value) and "meter" in str(caught.value) and "\n" not in str(caught.value)
