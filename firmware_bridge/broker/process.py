"""The embedded broker (amqtt), for demos and tests on one machine: loopback only, anonymous.

`python -m firmware_bridge.broker.process [--port N]` runs it as a process, which prints its port
and ends with its parent.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

from firmware_bridge.link import LinkError

HOST = "127.0.0.1"


class EmbeddedBroker:
    """A broker on a thread of this process.

    Args:
        port: the port on loopback; 0 picks a free one.
    """

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._loop: asyncio.AbstractEventLoop | None = None
        self._broker: Any = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """`mqtt://127.0.0.1:PORT`."""
        return f"mqtt://{HOST}:{self.port}"

    def start(self) -> None:
        """Start listening.

        Raises:
            LinkError: the port is taken.
        """
        for logger in ("amqtt", "transitions"):
            logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
        tries = 5 if self.port == 0 else 1
        for attempt in range(1, tries + 1):
            port = self.port or _free_port()
            failure = self._start_at(port)
            if failure is None:
                self.port = port
                return
            if attempt == tries:
                raise LinkError(f"the embedded broker cannot listen on {HOST}:{port}: {failure}")

    def stop(self) -> None:
        """Close all connections and end the thread. Last wills are not published."""
        loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._broker.shutdown(), loop).result(5.0)
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join(5.0)

    def __enter__(self) -> EmbeddedBroker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start_at(self, port: int) -> str | None:
        from amqtt.broker import Broker

        config = {
            "listeners": {"default": {"type": "tcp", "bind": f"{HOST}:{port}", "max_connections": 100}},
            "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
        }
        loop = asyncio.new_event_loop()
        # Broken connections are normal for a broker, and no concern of a rig's user.
        loop.set_exception_handler(lambda _loop, _context: None)
        started = threading.Event()
        failure: list[str] = []

        async def start() -> None:
            try:
                self._broker = Broker(config)
                await self._broker.start()
            except Exception as error:
                failure.append(str(error))

        def run() -> None:
            asyncio.set_event_loop(loop)
            loop.run_until_complete(start())
            started.set()
            if not failure:
                loop.run_forever()
            _end_tasks(loop)
            loop.close()

        self._thread = threading.Thread(target=run, name=f"broker {port}", daemon=True)
        self._thread.start()
        started.wait()
        if failure:
            self._thread.join()
            return failure[0]
        self._loop = loop
        return None


class BrokerProcess:
    """The embedded broker as a process, which ends with this one."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        """`mqtt://127.0.0.1:PORT`."""
        return f"mqtt://{HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None
        return self._process.pid

    def start(self, timeout: float = 20.0) -> None:
        """Start the process and wait until it listens.

        Raises:
            LinkError: it does not start.
        """
        command = [sys.executable, "-m", "firmware_bridge.broker.process", "--port", str(self.port)]
        # In a new session, so that Ctrl-C does not end it: rigs that stop still need the broker.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], timeout)
        line = self._process.stdout.readline().strip() if ready else ""
        if not line.isdecimal():
            self._process.kill()
            self.stop()
            raise LinkError(line or "the embedded broker did not start")
        self.port = int(line)

    @property
    def process(self) -> subprocess.Popen[str]:
        """The process, while it runs."""
        assert self._process is not None
        return self._process

    def stop(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def __enter__(self) -> BrokerProcess:
        if self._process is None:
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start_broker_process(port: int = 0) -> BrokerProcess:
    """Start the embedded broker as a process; use it as a context manager, or call `stop`.

    Raises:
        LinkError: it does not start.
    """
    process = BrokerProcess(port)
    process.start()
    return process


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


def main() -> int:
    """Run the broker, print its port, and end on SIGTERM or when standard input closes."""
    parser = argparse.ArgumentParser(prog="python -m firmware_bridge.broker.process", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    broker = EmbeddedBroker(parser.parse_args().port)
    try:
        broker.start()
    except LinkError as error:
        print(error, flush=True)
        return 3
    print(broker.port, flush=True)
    end_read, end_write = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.write(end_write, b"e"))
    signal.signal(signal.SIGINT, lambda *_: os.write(end_write, b"e"))
    while end_read not in (readable := select.select([sys.stdin, end_read], [], [])[0]):
        if sys.stdin in readable and not os.read(sys.stdin.fileno(), 4096):
            break
    broker.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
