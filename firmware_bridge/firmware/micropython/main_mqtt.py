"""ESP32, Pico W: copy this as main.py, with rig.py, mqtt_rig.py and garden.py; put in your network."""

import network
from garden import make_rig
from mqtt_rig import serve

wlan = network.WLAN(network.STA_IF)
wlan.active(True)
wlan.connect("NETWORK", "PASSWORD")
while not wlan.isconnected():
    pass
serve(make_rig, "garden", "192.168.1.10")
