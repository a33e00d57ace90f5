"""Tasmota, ESPHome, Home Assistant and Zigbee2MQTT on a real broker, as their MQTT pages describe them."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import Any

import paho.mqtt.client as mqtt


class Node:
    """A client with a last will; keeps what came and when."""

    will_topic = ""
    here, gone = "", ""

    def __init__(self, broker_url: str, name: str) -> None:
        self.name = name
        self.broker_url = broker_url
        self.url = f"{broker_url}/{name}"
        self.heard: list[tuple[float, str, str]] = []
        self.deaf = False
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv311)
        self.client.will_set(self.will_topic.format(name), self.gone, qos=1, retain=True)
        self.client.on_message = self._message
        self._ready = threading.Event()
        self.client.on_connect = self._connected
        self.client.on_subscribe = self._subscribed
        self.client.reconnect_delay_set(1, 1)

    def topics(self) -> list[str]:
        raise NotImplementedError

    def command(self, topic: str, payload: str) -> None:
        raise NotImplementedError

    def __enter__(self) -> Any:
        host, port = self.broker_url.removeprefix("mqtt://").split(":")
        self.client.connect(host, int(port), keepalive=5)
        self.client.loop_start()
        assert self._ready.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(RuntimeError):
            self.say(self.will_topic.format(self.name), "", retain=True)
        self.client.disconnect()
        self.client.loop_stop()

    def _connected(self, *_: Any) -> None:
        self.client.subscribe([(topic, 1) for topic in self.topics()])

    def _subscribed(self, *_: Any) -> None:
        self.client.publish(self.will_topic.format(self.name), self.here, qos=1, retain=True)
        self._ready.set()

    def vanish(self) -> None:
        """Lose the connection without a word, so that the broker publishes the will."""
        sock: Any = self.client.socket()
        self.client.loop_stop()
        sock.close()

    def say(self, topic: str, payload: str, *, retain: bool = False) -> None:
        self.client.publish(topic, payload, qos=1, retain=retain).wait_for_publish(5)

    def answer(self, topic: str, payload: str, *, retain: bool = False) -> None:
        self.client.publish(topic, payload, qos=0, retain=retain)

    def _message(self, _client: Any, _data: Any, message: mqtt.MQTTMessage) -> None:
        self.heard.append((time.monotonic(), message.topic, self.state_in(message.payload.decode())))
        if not self.deaf:
            self.command(message.topic, message.payload.decode())

    def state_in(self, payload: str) -> str:
        """Return the state that a command asks for."""
        return payload

    def payloads(self, topic: str) -> list[str]:
        """What came on a topic."""
        return [payload for _, there, payload in self.heard if there == topic]


class Tasmota(Node):
    """Relays POWER1..n, PulseTime, Status 8; unknown commands are answered as such."""

    will_topic = "tele/{}/LWT"
    here, gone = "Online", "Offline"

    def __init__(self, broker_url: str, name: str, relays: int = 4) -> None:
        super().__init__(broker_url, name)
        self.relays = dict.fromkeys(range(1, relays + 1), "OFF")
        self.pulse: dict[int, int] = {}
        self.switched: list[tuple[int, str]] = []
        self.analog = 200

    def topics(self) -> list[str]:
        return [f"cmnd/{self.name}/+"]

    def command(self, topic: str, payload: str) -> None:
        word = topic.rpartition("/")[2].upper()
        name, digits = word.rstrip("0123456789"), word[len(word.rstrip("0123456789")) :]
        index = int(digits or 1)
        if name == "POWER" and index in (0, *self.relays):
            for relay in self.relays if index == 0 else [index]:
                self._switch(relay, payload.upper())
        elif name == "PULSETIME" and index in self.relays:
            self.pulse[index] = int(payload)
            self._result({f"PulseTime{index}": {"Set": int(payload), "Remaining": int(payload)}})
        elif name == "STATUS" and payload == "8":
            sensors = {"StatusSNS": {"Time": "2026-01-01T00:00:00", "ANALOG": {"A0": self.analog}}}
            self.answer(f"stat/{self.name}/STATUS8", json.dumps(sensors))
        else:
            self._result({"Command": "Unknown"})

    def telemetry(self) -> None:
        """What it sends each TelePeriod."""
        payload = json.dumps({"Time": "2026-01-01T00:00:00", "ANALOG": {"A0": self.analog}})
        self.answer(f"tele/{self.name}/SENSOR", payload)
        self.answer(f"tele/{self.name}/STATE", json.dumps({"Uptime": "0T00:10:11", "POWER1": "OFF"}))

    def _switch(self, relay: int, state: str) -> None:
        if state in ("ON", "OFF"):
            if self.relays[relay] != state:
                self.switched.append((relay, state))
            self.relays[relay] = state
        self._result({f"POWER{relay}": self.relays[relay]})
        self.answer(f"stat/{self.name}/POWER{relay}", self.relays[relay])

    def _result(self, value: dict[str, Any]) -> None:
        self.answer(f"stat/{self.name}/RESULT", json.dumps(value))


class EspHome(Node):
    """Switches whose states are retained and sent only when they change, and a sensor."""

    will_topic = "{}/status"
    here, gone = "online", "offline"

    def __init__(self, broker_url: str, name: str, switches: tuple[str, ...]) -> None:
        super().__init__(broker_url, name)
        self.switches = dict.fromkeys(switches, "OFF")
        self.switched: list[tuple[str, str]] = []

    def topics(self) -> list[str]:
        return [f"{self.name}/switch/+/command"]

    def __enter__(self) -> EspHome:
        super().__enter__()
        for name, state in self.switches.items():
            self.say(f"{self.name}/switch/{name}/state", self.word(state), retain=True)
        return self

    def command(self, topic: str, payload: str) -> None:
        name = topic.split("/")[2]
        if name in self.switches and payload in ("ON", "OFF") and self.switches[name] != payload:
            self.switches[name] = payload
            self.switched.append((name, payload))
            self.answer(f"{self.name}/switch/{name}/state", self.word(payload), retain=True)

    def word(self, state: str) -> str:
        """Return how it publishes a state."""
        return state

    def sense(self, name: str, value: str) -> None:
        """A reading of a sensor."""
        self.say(f"{self.name}/sensor/{name}/state", value, retain=True)


class HomeAssistant(EspHome):
    """`mqtt_statestream`, the automation of docs/home-assistant.md, and a retained birth message."""

    will_topic = "{}-status/status"

    def word(self, state: str) -> str:
        """States are in lower case."""
        return state.lower()


class Zigbee2Mqtt(Node):
    """Switches that take JSON on NAME/set, and publish their state as JSON on NAME."""

    will_topic = "{}/bridge/state"
    here, gone = '{"state":"online"}', '{"state":"offline"}'

    def __init__(self, broker_url: str, name: str, switches: tuple[str, ...]) -> None:
        super().__init__(broker_url, name)
        self.switches = dict.fromkeys(switches, "OFF")
        self.switched: list[tuple[str, str]] = []
        self.on_times: dict[str, int] = {}

    def topics(self) -> list[str]:
        return [f"{self.name}/+/set"]

    def command(self, topic: str, payload: str) -> None:
        device, asked = topic.split("/")[1], json.loads(payload)
        if device not in self.switches or asked.get("state") not in ("ON", "OFF"):
            return
        if self.switches[device] != asked["state"]:
            self.switched.append((device, asked["state"]))
        self.switches[device] = asked["state"]
        self.on_times |= {device: asked["on_time"]} if "on_time" in asked else {}
        self.answer(f"{self.name}/{device}", json.dumps({"linkquality": 120, "state": asked["state"]}))

    def state_in(self, payload: str) -> str:
        return str(json.loads(payload)["state"])

    def sense(self, device: str, value: float) -> None:
        """A report of a soil sensor."""
        self.say(f"{self.name}/{device}", json.dumps({"battery": 88, "soil_moisture": value}))
