"""A mosquitto on the files that `pathrig broker init` makes, and a plain client of it."""

from __future__ import annotations

import json
import signal
import ssl
import threading
from pathlib import Path

import paho.mqtt.client as mqtt
from bridge_rig import Mosquitto, free_port, wait_until
from paho.mqtt.enums import CallbackAPIVersion

from firmware_bridge.broker.files import BrokerFiles, write_broker_files
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link


class OwnBroker(Mosquitto):
    """A mosquitto on files that were made for it."""

    def __init__(self, config: Path, port: int) -> None:
        super().__init__()
        self._config, self.port = config, port

    def reload(self) -> None:
        """Read the access list again. mosquitto listens before it handles a SIGHUP, which would end it."""
        assert self._process is not None
        assert wait_until(self._handles_hangup)
        self._process.send_signal(signal.SIGHUP)

    def _handles_hangup(self) -> bool:
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        (caught,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
        return bool(int(caught, 16) >> (signal.SIGHUP - 1) & 1)


def made(folder: Path, *, client_certificates: bool = False) -> tuple[BrokerFiles, OwnBroker]:
    port = free_port()
    files = write_broker_files(
        folder,
        ["rover", "arm"],
        hosts=["127.0.0.1"],
        port=port,
        plain_port=None,
        client_certificates=client_certificates,
    )
    return files, OwnBroker(files.config, port)


class Somebody:
    """A plain client of MQTT 5, which hears from the broker what became of a message."""

    def __init__(self, files: BrokerFiles, user: str, password: str) -> None:
        self.reason: list[mqtt.ReasonCode] = []
        self.news = threading.Event()
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
        self.client.username_pw_set(user, password)
        self.client.tls_set(str(files.config.parent / "ca.crt"), cert_reqs=ssl.CERT_REQUIRED)
        ready = threading.Event()
        self.client.on_connect = lambda *_: ready.set()
        self.client.on_publish = self._published
        port = int(files.config.read_text().split("listener ")[1].split()[0])
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        assert ready.wait(25)

    def _published(self, *arguments: object) -> None:
        self.reason.append(arguments[3])
        self.news.set()

    def may_write(self, topic: str) -> bool:
        self.news.clear()
        self.client.publish(topic, json.dumps({"op": "nothing"}), 1)
        assert self.news.wait(25)
        return not self.reason[-1].is_failure

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


def may_write(files: BrokerFiles, user: str, password: str) -> set[str]:
    somebody = Somebody(files, user, password)
    channels = ("call", "estop", "result", "sample/x", "status", "truth", "lease")
    topics = [f"{rig}/{channel}" for rig in ("rover", "arm") for channel in channels]
    try:
        return {topic for topic in topics if somebody.may_write(f"pathrig/v1/{topic}")}
    finally:
        somebody.close()


def may_be_opened(url: str) -> bool:
    """Whether the broker has read its files again."""

    def opened() -> bool:
        try:
            open_link(url).close()
        except LinkError:
            return False
        return True

    return wait_until(opened)
