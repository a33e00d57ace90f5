"""pymodbus's own server as a board of eight relays and two soil sensors, on TCP or behind a pty."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
import tty
from typing import Any

from pymodbus.server import ModbusSerialServer, ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

FIRST_COIL_WRITE = 5


class ModbusBoard:
    """Runs the server in a thread of its own; `switched` has every write of a coil, with its time."""

    def __init__(self, *, rtu: bool = False) -> None:
        self.switched: list[tuple[float, int, bool]] = []
        self._rtu, self._ready = rtu, threading.Event()
        self._ptys: list[int] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> ModbusBoard:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(5)
        for end in self._ptys:
            with contextlib.suppress(OSError):
                os.close(end)

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        coils = [SimData(0, count=8, values=False, datatype=DataType.BITS)]
        inputs = [SimData(0, values=[512, 100], datatype=DataType.REGISTERS)]
        other = [SimData(0, count=8, datatype=DataType.REGISTERS)]
        device = SimDevice(
            1, (coils, [SimData(0, count=8, values=False, datatype=DataType.BITS)], other, inputs)
        )
        named: dict[str, Any] = {"trace_pdu": self._seen}
        if self._rtu:
            near, far = self._pty(), self._pty()
            self.url = f"serial://{os.ttyname(near[1])}?baud=115200"
            self._bridge(near[0], far[0])
            server: Any = ModbusSerialServer(device, port=os.ttyname(far[1]), baudrate=115200, **named)
        else:
            server = ModbusTcpServer(device, address=("127.0.0.1", 0), **named)
        await server.serve_forever(background=True)
        if not self._rtu:
            port = server.transport.sockets[0].getsockname()[1]
            self.url = f"modbus://127.0.0.1:{port}"
        self._ready.set()
        await self._end.wait()
        await server.shutdown()

    def _pty(self) -> tuple[int, int]:
        ends = os.openpty()
        tty.setraw(ends[1])
        self._ptys += ends
        return ends

    def _bridge(self, one: int, other: int) -> None:
        for source, sink in ((one, other), (other, one)):

            def carry(source: int = source, sink: int = sink) -> None:
                with contextlib.suppress(OSError):
                    while data := os.read(source, 256):
                        os.write(sink, data)

            threading.Thread(target=carry, daemon=True).start()

    def _seen(self, sending: bool, pdu: Any) -> Any:
        if not sending and pdu.function_code == FIRST_COIL_WRITE:
            self.switched.append((time.monotonic(), pdu.address, bool(pdu.bits[0])))
        return pdu
