"""Serves a rig on a UART: one frame a line, JSON, `*`, CRC-32, newline; the byte 0x18 stops at once."""

import json
import time
from binascii import crc32

from chip import reset_cause, watchdog
from rig import MAX_FRAME

TURN_BYTES = 64  # taken in one turn, so that no flood keeps the rig from its work


def serve(make_rig, uart):
    """Never returns. `make_rig(send, ...)` makes the rig; reading the UART must not block.

    The chip's watchdog is fed once a turn: a tool's step that takes 2 s resets the chip.
    """

    def send(message):
        text = json.dumps(message)
        uart.write("{}*{:08X}\n".format(text, crc32(text.encode())))

    rig = make_rig(send, reset=reset_cause())
    feed = watchdog(2000)
    try:
        rig.status()
        line, before_stop = bytearray(), False
        while True:
            feed()
            for byte in uart.read(TURN_BYTES) or b"":
                if byte == 0x18:
                    rig.stop()
                    before_stop = len(line) > 0
                elif byte != 10:
                    if len(line) <= MAX_FRAME:
                        line.append(byte)
                else:
                    text = checked(bytes(line).rstrip(b"\r"))
                    if text is not None:
                        rig.take_json(text, before_stop)
                    elif line.strip():
                        rig.dropped += 1
                    line, before_stop = bytearray(), False
            rig.step()
            time.sleep_ms(1)
    finally:
        rig.safe()  # whatever ends the loop; the watchdog then restarts the board


def checked(line):
    """The JSON of a line, or None where it does not check."""
    text, mark, crc = line[:-9], line[-9:-8], line[-8:]
    if len(line) > MAX_FRAME or mark != b"*" or crc != b"%08X" % crc32(text):
        return None
    return text
