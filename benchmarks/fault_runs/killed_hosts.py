"""`kill9`: host processes killed in mid-call, and the time until the device is safe."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

from benchmarks.fault_runs.ledger import Counts, Ledger
from firmware_bridge.endpoint import DeviceEndpoint
from firmware_bridge.serial.port import SerialPort

SCHEDULING = 0.05
"""Maximum scheduling delay of the device's thread, s."""


HOST = """
import sys
from firmware_bridge.client import RigClient
from firmware_bridge.links import open_link
sys.stdin.readline()
client = RigClient(open_link(sys.argv[1]))
client.open()
client.reset()
print("ready", flush=True)
number = int(sys.stdin.readline())
client.call("work", {"n": number, "check": number * 2654435761 % 2**32})
"""


def new_host(path: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", HOST, f"serial://{path}"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def kill_hosts(kills: int, seed: int) -> Counts:
    """Kill host processes in mid-call; each time the device must be safe within its watchdog's time."""
    noise = random.Random(seed)
    watchdog = 0.3
    device, port = Ledger(seconds=60.0), SerialPort("pty")
    safe = 0
    took: list[float] = []
    with DeviceEndpoint(device, port, watchdog_ms=int(watchdog * 1000)):
        waiting = [new_host(port.path)]
        for number in range(kills):
            host = waiting.pop()
            assert host.stdin is not None and host.stdout is not None
            host.stdin.write(b"open\n")
            host.stdin.flush()
            waiting.append(new_host(port.path))
            if host.stdout.readline() != b"ready\n":
                sys.exit("the host did not start")
            device.started.clear()
            host.stdin.write(f"{number}\n".encode())
            host.stdin.flush()
            if not device.started.wait(20):
                sys.exit("the call did not start")
            device.made_safe.clear()
            time.sleep(noise.uniform(0.0, watchdog))
            killed = time.monotonic()
            host.send_signal(signal.SIGKILL)
            host.wait()
            if device.made_safe.wait(10 * watchdog):
                safe += 1
                took.append(device.safe_at - killed)
            host.stdin.close()
            host.stdout.close()
        last = waiting.pop()
        last.kill()
        last.communicate()
    longest = max(took, default=float("inf"))
    return {
        "kills": kills,
        "safe": safe,
        "watchdog s": watchdog,
        "longest s": round(longest, 3),
        "late": sum(one > watchdog + SCHEDULING for one in took) + kills - safe,
        "executed": len(device.executed),
        "twice": device.twice,
        "wrong": device.wrong,
    }
