"""ESP32, Pico W: copy this as main.py, beside all files but the main_ ones; put in your network."""

import time

import network
from chip import watchdog
from garden import make_rig
from mqtt_rig import serve

WIFI_SECONDS = 30
feed = watchdog(5000)
wlan = network.WLAN(network.STA_IF)
wlan.active(True)
wlan.connect("NETWORK", "PASSWORD")
for _ in range(10 * WIFI_SECONDS):
    if wlan.isconnected():
        break
    feed()
    time.sleep_ms(100)
# Whatever ends this, a lost network or broker included: the watchdog then restarts the board.
serve(make_rig, feed, "garden", "192.168.1.10")
