"""Serves a rig at an MQTT broker with umqtt.simple (`mip.install("umqtt.simple")`)."""

import json
import random
import time

from chip import reset_cause
from rig import BOOT
from umqtt.simple import MQTTClient


def serve(make_rig, feed, name, host, port=1883, **login):
    """Serve until the broker is lost, which raises OSError; the rig is safe then.

    `feed` feeds the chip's watchdog, once a turn. umqtt waits without a limit, for a connection and for the
    broker to acknowledge a message: such a wait ends as a reset.
    """
    base = "pathrig/v1/" + name + "/"
    # A client with our client id would disconnect us from the broker: this one cannot be guessed.
    client_id = "{}-{:08x}".format(name, random.getrandbits(32))
    client = MQTTClient(client_id, host, port, keepalive=15, **login)
    will = {"v": 1, "op": "status", "state": "offline", "boot": BOOT}
    client.set_last_will(base + "status", json.dumps(will), retain=True, qos=1)
    arrived = []

    def send(message):
        op = message["op"]
        topic = {"status": "status", "sample": "sample/" + message.get("sensor", "")}.get(op, "result")
        qos = 0 if op == "sample" else 1
        client.publish(base + topic, json.dumps(message), retain=op == "status", qos=qos)

    # Wi-Fi may be silent for longer than a cable.
    rig = make_rig(send, watchdog_ms=5000, reset=reset_cause())

    def on_message(topic, payload):
        # Publishing waits for the broker and may end up here again: the stop acts now, the rest waits.
        if topic.endswith(b"/estop"):
            rig.safe()
            arrived[:] = [(b'{"op":"estop"}', False)] + [(waiting, True) for waiting, _ in arrived]
        else:
            arrived.append((payload, False))

    client.set_callback(on_message)
    client.connect()
    client.subscribe(base + "estop", qos=1)
    client.subscribe(base + "call", qos=1)
    try:
        rig.status()
        pinged = time.ticks_ms()
        while True:
            feed()
            client.check_msg()
            if arrived:
                rig.take_json(*arrived.pop(0))
            rig.step()
            if time.ticks_diff(time.ticks_ms(), pinged) > 5000:
                pinged = time.ticks_ms()
                client.ping()
            time.sleep_ms(1)
    finally:
        rig.safe()
