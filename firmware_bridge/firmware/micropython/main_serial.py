"""ESP32, Pico W: copy this as main.py, beside all files but the main_ ones."""

from garden import make_rig
from machine import UART
from serial_rig import serve

serve(make_rig, UART(1, 115200, timeout=0))
