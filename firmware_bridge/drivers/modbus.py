"""Modbus RTU and TCP by pymodbus: the base of drivers in Python, and relay boards as valves and pumps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from devices.drivers.tool_driver import DriverFault, LockedDriver
from firmware_bridge.link import LinkError
from firmware_bridge.serial.address import parse_serial_url

BAUD = 9600


class ModbusDriver(LockedDriver):
    """A Modbus device at `modbus://HOST[:502]`, or on a port: `serial:///dev/ttyUSB0?baud=9600`.

    Options of its driver file: `unit` (the device's id), `answer_seconds`, `parity` of a port (N, E or O).
    """

    def connect(self) -> None:
        """Open the port or connection."""
        try:
            from pymodbus.client import ModbusSerialClient, ModbusTcpClient
        except ImportError:
            raise OSError("Modbus needs pymodbus: pip install 'pathrig[modbus]'") from None
        times: dict[str, Any] = {"timeout": self.options["answer_seconds"], "retries": 0}
        parts = urlsplit(self.url)
        if parts.scheme == "modbus" and parts.hostname:
            self._client: Any = ModbusTcpClient(parts.hostname, port=parts.port or 502, **times)
        else:
            try:
                port = parse_serial_url(self.url, BAUD)
                path = port.resolve()
            except LinkError as error:
                raise OSError(f"{error}, or modbus://HOST:PORT for TCP") from None
            parity = str(self.options.get("parity", "N"))
            self._client = ModbusSerialClient(path, baudrate=port.baud, parity=parity, **times)
        if not self._client.connect():
            raise OSError(f"no Modbus device can be reached at {self.url}")

    def close(self) -> None:
        """Close the port or connection."""
        self._client.close()

    def ask(self, function: str, *arguments: Any, **named: Any) -> Any:
        """Call a function of pymodbus's client for this device, as `read_input_registers(address, count=2)`.

        Raises:
            DriverFault: the device refuses.
            TimeoutError: it does not answer. OSError: it is gone.
        """
        from pymodbus.exceptions import ConnectionException, ModbusException

        with self.talking:
            try:
                answer = getattr(self._client, function)(
                    *arguments, device_id=int(self.options.get("unit", 1)), **named
                )
            except ConnectionException as error:
                raise OSError(str(error)) from None
            except ModbusException as error:
                raise TimeoutError(str(error)) from None
        if answer.isError():
            raise DriverFault(
                f"modbus_{answer.exception_code}",
                f"The device refuses {function} of {arguments[0]} with exception {answer.exception_code}.",
            )
        return answer

    def coil(self, address: int) -> bool:
        """Read an output."""
        return bool(self.ask("read_coils", int(address)).bits[0])

    def switch(self, address: int, on: bool) -> None:
        """Switch an output."""
        self.ask("write_coil", int(address), on)

    def register(self, address: int) -> int:
        """Read an input register."""
        return int(self.ask("read_input_registers", int(address)).registers[0])

    def outputs(self) -> Iterable[int]:
        """The coils that a stop switches off."""
        raise NotImplementedError

    def stop(self) -> None:
        """Switch every output off, whatever one of them answers."""
        gone: OSError | None = None
        for address in self.outputs():
            try:
                self.switch(address, False)
            except TimeoutError:
                # It was sent, and nobody answered.
                pass
            except (OSError, DriverFault) as error:
                gone = OSError(str(error))
        self.locked = True
        if gone is not None:
            raise gone

    def standing(self) -> bool:
        """Whether every output is off."""
        return not any(self.coil(address) for address in self.outputs())


class ModbusRelays(ModbusDriver):
    """Relays as water valves and sprayer pumps, input registers as soil sensors, in the table `plants`."""

    firmware = "Modbus relays"

    def outputs(self) -> Iterable[int]:
        """The relays of the table."""
        rows = self.tables["plants"].values()
        return [int(row[column]) for row in rows for column in ("relay", "spray_relay") if column in row]

    def poll(self) -> None:
        """Read valves and soil."""
        for name, row in self.tables["plants"].items():
            self._valve(name, self.coil(int(row["relay"])))
            if "sensor" in row:
                self._soil(name)

    def _valve(self, name: str, is_open: bool) -> None:
        self.sample(f"valve.{name}", "open" if is_open else "closed")

    def _soil(self, name: str) -> str:
        reading = self.register(self.cell("plants", name, "sensor"))
        soil = "wet" if reading >= self.options["wet_from"] else "dry"
        self.sample(f"soil.{name}", soil)
        return soil

    def _run(self, plant_id: str, column: str, seconds: float, told: Callable[[bool], None]) -> None:
        self.unlocked()
        relay = int(self.cell("plants", plant_id, column))
        try:
            with self.acting():
                self.switch(relay, True)
            told(True)
            self.pause(seconds)
        finally:
            self.switch(relay, False)
        if self.coil(relay):
            raise DriverFault("stuck_relay", f"Relay {relay} of {plant_id} is still on.")
        told(False)

    def water_plant(self, plant_id: str, liters: float) -> Mapping[str, Any]:
        """Open the valve for as long as the litres take."""
        seconds = liters / self.options["flow"]
        self._run(plant_id, "relay", seconds, lambda is_open: self._valve(plant_id, is_open))
        return {"plant_id": plant_id, "liters": liters}

    def spray_pesticide(self, plant_id: str, ml: float) -> Mapping[str, Any]:
        """Run the sprayer's pump for as long as the millilitres take."""
        self._run(plant_id, "spray_relay", ml / self.options["spray_flow"], lambda _: None)
        return {"plant_id": plant_id, "ml": ml}

    def scan_plant(self, plant_id: str) -> Mapping[str, Any]:
        """Read the soil sensor."""
        return {"plant_id": plant_id, "soil": self._soil(plant_id)}

    def list_plants(self) -> Mapping[str, Any]:
        """Return the names."""
        return {"plants": list(self.tables["plants"])}

    def get_plant_pose(self, plant_id: str) -> Mapping[str, Any]:
        """Return where it is by the table."""
        row = self.row("plants", plant_id)
        return {"name": plant_id, "x": row["x"], "y": row["y"], "yaw": 0.0}
