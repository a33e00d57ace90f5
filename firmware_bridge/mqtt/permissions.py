"""Asks a broker in MQTT 5 whether we may publish; in 3.1.1 it does not report a refusal."""

from __future__ import annotations

import dataclasses
import secrets
import threading

from firmware_bridge.link import LinkError
from firmware_bridge.mqtt.address import Topics, parse_mqtt_url
from firmware_bridge.mqtt.connection import MqttConnection

ANSWER_SECONDS = 2.0
GRACE_SECONDS = 0.2


def may_publish(url: str, channel: str, payload: bytes) -> bool | None:
    """Publish a payload on a channel of the URL's rig, and return whether the broker accepts it.

    None: the broker has no MQTT 5, or did not answer.
    """
    address = dataclasses.replace(parse_mqtt_url(url), version=5)
    topics = Topics(address.rig)
    refused = threading.Event()
    connection = MqttConnection(
        address,
        f"pathrig-check-{secrets.token_hex(6)}",
        subscriptions=[(topics.of("status"), 0, False)],
        on_message=lambda *_: None,
        on_link=lambda _: None,
        on_refused=lambda _: refused.set(),
    )
    try:
        connection.open(ANSWER_SECONDS)
    except LinkError:
        return None
    try:
        info = connection.publish(topics.of(channel), payload)
        if info is None:
            return None
        info.wait_for_publish(ANSWER_SECONDS)
        if not info.is_published():
            return None
        return not refused.wait(GRACE_SECONDS)
    except (RuntimeError, ValueError):
        return None
    finally:
        connection.close()
