"""Announces a rig to Home Assistant by MQTT discovery: its state, its stop and its sensors as entities.

Each entity is one retained message on `PREFIX/COMPONENT/pathrig_RIG/ENTITY/config`, as
https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery describes. The entities read the rig's own
topics, so they work without the host.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from importlib.metadata import version
from typing import Any

from core_eval.text.json_text import json_text
from devices.sensors import Sample, SampleValue
from firmware_bridge import messages as wire
from firmware_bridge.codec import encode
from firmware_bridge.mqtt.address import Topics, parse_mqtt_url
from firmware_bridge.mqtt.connection import MqttConnection

PREFIX = "homeassistant"
"""Home Assistant's own default."""
STOP_INPUT = "stop_input"
AVAILABLE = "{{ 'offline' if value_json.state == 'offline' else 'online' }}"
PUBLISH_SECONDS = 5.0
SETTLE_SECONDS = 1.0
"""Time to wait for the retained messages of a broker, which sends no end of them."""


class HomeAssistantDiscovery:
    """The announcements of one rig; connects in the constructor.

    Announcements stay after `close`: the rig's own status says whether it is available.

    Args:
        url: the rig's MQTT URL.
        device: the name of its device type.
        prefix: Home Assistant's discovery prefix.

    Raises:
        LinkError: the broker cannot be reached, or refuses us.
    """

    def __init__(self, url: str, device: str | None, prefix: str = PREFIX) -> None:
        address = parse_mqtt_url(url)
        self._rig, self._device, self._prefix = address.rig, device, prefix
        self._node = f"pathrig_{_identifier(address.rig)}"
        self._topics = Topics(address.rig)
        self._announced: set[str] = set()
        self._sent: set[str] = set()
        self._retained: set[str] = set()
        self._found = threading.Event()
        self._connection = MqttConnection(
            address,
            f"pathrig-discovery-{secrets.token_hex(6)}",
            subscriptions=[(f"{prefix}/+/{self._node}/+/config", 1, False)],
            on_message=self._message,
            on_link=lambda _up: None,
        )
        self._connection.open()

    def announce(self) -> None:
        """Announce the rig's state and its stop button."""
        state = {
            "state_topic": self._topics.of("status"),
            "value_template": "{{ value_json.state }}",
            "icon": "mdi:robot-industrial",
        }
        stop = {
            "command_topic": self._topics.of("estop"),
            "payload_press": encode(wire.Estop()).decode(),
            "qos": 1,
            "icon": "mdi:stop-circle",
        }
        self._publish("sensor", "state", "State", state)
        self._publish("button", "stop", "Stop", stop)

    def told(self, status: wire.Status) -> None:
        """Announce the rig's stop input with the first status that tells of it."""
        if status.stop_input is None or STOP_INPUT in self._announced:
            return
        self._announced.add(STOP_INPUT)
        entity = {
            "state_topic": self._topics.of("status"),
            "value_template": "{{ value_json.stop_input | default('unknown') }}",
            "icon": "mdi:alert-octagon",
        }
        self._publish("sensor", STOP_INPUT, "Stop input", entity)

    def sampled(self, sample: Sample) -> None:
        """Announce a sensor at its first reading; its type gives the kind of entity."""
        if sample.sensor in self._announced:
            return
        self._announced.add(sample.sensor)
        entity = {
            "state_topic": self._topics.sample(sample.sensor),
            "value_template": "{{ value_json.value }}",
            **_kind(sample.value),
        }
        component = "binary_sensor" if isinstance(sample.value, bool) else "sensor"
        name = sample.sensor.replace("_", " ").replace(".", " ")
        self._publish(component, _identifier(sample.sensor), name, entity)

    def unconfirmed(self) -> list[str]:
        """Return the announced topics that the broker has not sent back within `PUBLISH_SECONDS`.

        MQTT 3.1.1 has no other sign that an access list drops a message.
        """
        deadline = time.monotonic() + PUBLISH_SECONDS
        while missing := sorted(self._sent - self._retained):
            self._found.clear()
            if not self._found.wait(max(0.0, deadline - time.monotonic())):
                break
        return missing

    def remove(self) -> list[str]:
        """Remove every announcement of the rig from the broker; return the removed topics."""
        while self._found.wait(SETTLE_SECONDS):
            self._found.clear()
        topics = sorted(self._retained)
        for topic in topics:
            self._send(topic, b"")
        deadline = time.monotonic() + PUBLISH_SECONDS
        while self._retained and time.monotonic() < deadline:
            self._found.wait(SETTLE_SECONDS)
            self._found.clear()
        return [topic for topic in topics if topic not in self._retained]

    def close(self) -> None:
        """Disconnect; the announcements stay."""
        self._connection.close()

    def _publish(self, component: str, entity: str, name: str, content: dict[str, Any]) -> None:
        config = {
            "name": name,
            "unique_id": f"{self._node}_{entity}",
            "object_id": f"{self._node}_{entity}",
            "availability_topic": self._topics.of("status"),
            "availability_template": AVAILABLE,
            "device": {
                "identifiers": [self._node],
                "name": self._rig,
                "manufacturer": "pathrig",
                **({} if self._device is None else {"model": self._device}),
            },
            "origin": {"name": "pathrig", "sw_version": version("pathrig")},
            **content,
        }
        topic = f"{self._prefix}/{component}/{self._node}/{entity}/config"
        self._send(topic, json_text(config).encode())

    def _send(self, topic: str, payload: bytes) -> None:
        # Without a connection it is queued, and sent when the broker is back.
        self._connection.publish(topic, payload, retain=True)
        (self._sent.add if payload else self._sent.discard)(topic)

    def _message(self, topic: str, payload: bytes, _retained: bool) -> None:
        (self._retained.add if payload else self._retained.discard)(topic)
        self._found.set()


def _kind(value: SampleValue) -> dict[str, Any]:
    """Return what Home Assistant has to know of a reading's type."""
    if isinstance(value, bool):
        # As its templates print truth values.
        return {"payload_on": "True", "payload_off": "False"}
    return {} if isinstance(value, str) else {"state_class": "measurement"}


def _identifier(name: str) -> str:
    """Return a name as discovery topics allow it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
