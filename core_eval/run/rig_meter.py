"""The power meter that a rig's file names, read beside the episodes by the wires of the drivers."""

from __future__ import annotations

import atexit
import os
import struct
import threading
import time
from collections.abc import Callable
from math import inf, isfinite
from typing import Protocol

from configs.meter_config import MeterConfig
from core_eval.run.resource_usage import PowerMeter
from devices.drivers.patterns import CaptureKey, MachineMessage, Pattern
from devices.drivers.settings import Settings
from devices.drivers.tool_driver import DriverFault
from firmware_bridge.drivers.modbus import ModbusDriver
from firmware_bridge.drivers.topics import DriverTopics
from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.address import parse_mqtt_url

NUMBER = r"^\s*(?P<power>[-+]?\d+(\.\d*)?([eE][-+]?\d+)?)\s*$"
MODBUS_ANSWER_S = 1.0
TRIED_AGAIN_S = 60.0
"""A broker that is silent takes 5 s to be told from one that is slow."""
FORMATS = {"uint16": ">H", "int16": ">h", "uint32": ">I", "int32": ">i", "float32": ">f"}
Take = Callable[[float], None]


class Source(Protocol):
    """Where readings come from, without the scale."""

    def read(self) -> None:
        """Ask for a reading, where it has to be asked for. Raises OSError, LinkError or DriverFault."""

    def close(self) -> None:
        """Close it. Never raises."""


class PlugSource:
    """A plug behind a broker; there is no last will: nothing is switched."""

    def __init__(self, config: MeterConfig, take: Take) -> None:
        """Connect. Raises LinkError."""
        assert config.topic is not None, "the config's check makes sure"
        keys = None if config.key is None else {config.key: CaptureKey(capture="power")}
        self._pattern = Pattern(topic=config.topic, keys=keys, match=NUMBER if keys is None else None)
        self._question, self._take = config.ask, take
        self._wire = DriverTopics(parse_mqtt_url(config.url), [config.topic], [])
        self._wire.open(self._hear, lambda: None)

    def read(self) -> None:
        """Publish the question, if there is one. Raises LinkError without a broker."""
        if not self._wire.connected:
            raise LinkError(f"no connection to {self._wire.name}")
        if self._question is not None:
            self._wire.publish(self._question.topic, self._question.payload)

    def close(self) -> None:
        """Disconnect."""
        self._wire.close()

    def _hear(self, message: MachineMessage) -> None:
        # How old a retained reading is, nobody knows.
        found = None if message.retained else self._pattern.find(message, {})
        if found is not None:
            try:
                self._take(float(found["power"]))
            except ValueError:
                return


class RegisterSource:
    """A Modbus meter; one that is lost is connected anew with the next reading."""

    def __init__(self, config: MeterConfig, take: Take) -> None:
        """Connect. Raises OSError."""
        self._config, self._take, self._lost = config, take, False
        options = {"unit": config.unit, "answer_seconds": MODBUS_ANSWER_S}
        self._device = ModbusDriver(config.url, Settings(options, {}))

    def read(self) -> None:
        """Read the register. Raises OSError or DriverFault."""
        device, config = self._device, self._config
        if self._lost:
            device.close()
            device.connect()
        self._lost = True
        count = 1 if config.type.endswith("16") else 2
        answer = device.ask(f"read_{config.registers}_registers", config.address, count=count)
        self._lost = False
        words = b"".join(int(word).to_bytes(2, "big") for word in answer.registers)
        (value,) = struct.unpack(FORMATS[config.type], words)
        self._take(float(value))

    def close(self) -> None:
        """Close the port or connection."""
        self._device.close()


class RigMeter:
    """A meter that is open; its readings come on a thread, and the newest one holds until the next.

    Args:
        config: as the rig's file has it.
        clock: seconds.
    """

    def __init__(self, config: MeterConfig, clock: Callable[[], float] = time.monotonic) -> None:
        self._config, self._clock = config, clock
        self._source: Source | None = None
        self._newest: tuple[float, float] | None = None
        self._fault = ""
        self._tried_again = -inf
        self._heard, self._over = threading.Event(), threading.Event()

    def ensure(self) -> None:
        """Open it where it is not, and wait for its first reading; a fault is told by `watts`.

        After a fault it is tried again after TRIED_AGAIN_S.
        """
        if self._source is not None or self._clock() < self._tried_again:
            return
        make = PlugSource if self._config.topic is not None else RegisterSource
        try:
            self._source = make(self._config, self._take)
        except (LinkError, OSError) as error:
            self._fault = str(error)
            self._tried_again = self._clock() + TRIED_AGAIN_S
            return
        threading.Thread(target=self._keep_reading, args=(self._source,), name="meter", daemon=True).start()
        self._heard.wait(self._config.longest_gap)

    def meter(self) -> PowerMeter:
        """Return it as a meter that counts from now on."""
        return PowerMeter(self._config.name, self.watts, self._clock)

    def watts(self) -> float:
        """Return the newest reading, W.

        Raises:
            ValueError: there is none, or it is too old; one line.
        """
        newest, gap = self._newest, self._config.longest_gap
        if newest is None or self._clock() - newest[1] > gap:
            why = f": {self._fault}" if self._fault else ""
            raise ValueError(f"{self._config.name} gave no reading for {gap:g} s{why}")
        return newest[0]

    def close(self) -> None:
        """Close it. Never raises."""
        self._over.set()
        if self._source is not None:
            self._source.close()

    def _take(self, reading: float) -> None:
        if isfinite(reading):
            self._newest, self._fault = (reading * self._config.scale, self._clock()), ""
            self._heard.set()

    def _keep_reading(self, source: Source) -> None:
        while True:
            try:
                source.read()
            except (LinkError, OSError, DriverFault) as error:
                self._fault = str(error)
            if self._over.wait(self._config.every):
                return


_open: dict[tuple[int, MeterConfig], RigMeter] = {}


def rig_meter(config: MeterConfig) -> RigMeter:
    """Return the meter of a rig's file, which stays open in this process until it ends.

    What a fork inherits is not used: its thread is not there.
    """
    meter = _open.setdefault((os.getpid(), config), RigMeter(config))
    meter.ensure()
    return meter


def close_meters() -> None:
    """Close all meters of this process."""
    for key in [key for key in _open if key[0] == os.getpid()]:
        _open.pop(key).close()


atexit.register(close_meters)
