"""`serial`: frames of calls on a pseudo terminal, half of them spoiled."""

from __future__ import annotations

import json
import random
from collections import Counter

import serial

from benchmarks.fault_runs.ledger import Counts, Ledger, work
from firmware_bridge import messages as wire
from firmware_bridge.codec import encode
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.lines import LineDecoder, to_line
from firmware_bridge.serial.port import SerialPort


def spoiled(line: bytes, noise: random.Random) -> bytes:
    """Return the line with one to three bytes flipped, lost or inserted."""
    data = bytearray(line)
    for _ in range(noise.randint(1, 3)):
        at = noise.randrange(len(data))
        match noise.choice(("flip", "lose", "insert")):
            case "flip":
                data[at] ^= 1 << noise.randrange(8)
            case "lose":
                del data[at]
            case "insert":
                data.insert(at, noise.randrange(256))
    # The stop byte is a valid command, and would end the run.
    return bytes(data).replace(b"\x18", b"?")


def serial_noise(frames: int, seed: int) -> Counts:
    """Send good and spoiled frames, most calls more than once, in windows of a few at a time."""
    noise = random.Random(seed)
    device, port = Ledger(), SerialPort("pty")
    endpoint = DeviceEndpoint(device, port, watchdog_ms=600_000, results_kept=256)
    answers: Counter[str] = Counter()
    sent = spoilt = 0
    with endpoint:
        host = serial.Serial(port.path, 115200, timeout=10, exclusive=True)
        decoder = LineDecoder()

        def settle() -> None:
            """Wait for a ping behind all that was sent."""
            host.write(b"\n" + to_line(encode(wire.Ping())))
            while True:
                for payload in decoder.feed(host.read(host.in_waiting or 1)):
                    message = json.loads(payload)
                    if message["op"] == "pong":
                        return
                    answers[message.get("status", message["op"])] += 1

        number = 0
        while sent < frames:
            batch = b""
            for _ in range(min(24, frames - sent)):
                if noise.random() < 0.5:
                    number += 1
                line = to_line(encode(wire.Call(id=number, tool="work", args=work(number))))
                if noise.random() < 0.5:
                    line, spoilt = spoiled(line, noise), spoilt + 1
                batch += line
                sent += 1
            host.write(batch)
            settle()
        host.close()
    unsent = sum(n > number for n in device.executed)
    return {
        "frames": sent,
        "spoilt": spoilt,
        "dropped": endpoint.dropped,
        "executed": len(device.executed),
        "twice": device.twice,
        "wrong": device.wrong + unsent,
        "answered": sum(answers.values()),
    }
