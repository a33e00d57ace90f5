"""A plain client of a broker, which knows the topics and nothing of the kit."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion


class Outsider:
    """A plain paho client, which knows the topics and nothing of ours."""

    def __init__(self, url: str, topic: str) -> None:
        self.messages: queue.Queue[mqtt.MQTTMessage] = queue.Queue()
        self.client = mqtt.Client(CallbackAPIVersion.VERSION2)
        ready = threading.Event()
        self.client.on_message = lambda _c, _d, message: self.messages.put(message)
        self.client.on_subscribe = lambda *_: ready.set()
        self.client.connect("127.0.0.1", int(url.rpartition(":")[2]))
        self.client.loop_start()
        self.client.subscribe(topic, 1)
        assert ready.wait(25)

    def get(self, ending: str) -> tuple[mqtt.MQTTMessage, dict[str, Any]]:
        while True:
            message = self.messages.get(timeout=25)
            if message.topic.endswith(ending):
                return message, json.loads(message.payload)

    def status(self, state: str) -> mqtt.MQTTMessage:
        while True:
            message, body = self.get("/status")
            if body["state"] == state:
                return message

    def send(self, topic: str, body: dict[str, Any], **options: Any) -> None:
        self.client.publish(topic, json.dumps(body), 1, **options).wait_for_publish(5)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


@contextmanager
def outsider(url: str, topic: str) -> Iterator[Outsider]:
    client = Outsider(url, topic)
    try:
        yield client
    finally:
        client.close()
