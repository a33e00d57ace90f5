"""The rules of pathrig's wire, version 1, for a rig in MicroPython; serial_rig.py and mqtt_rig.py carry it.

`tools` maps a tool's name to its function and its arguments with type and limits: {"ml": (float, 0, 60)}. A
function takes the arguments by name and returns the result's value. One that takes time returns a generator,
which yields again and again, so that ping and stop are answered meanwhile, and is ended as a fault after
`longest_ms`. Refusal says: nothing was done.
"""

import json
import random
import time

BOOT = "{:08x}".format(random.getrandbits(32))  # another one at every start: two boards of one name show
KEPT = 32
MAX_FRAME = 512


class Refusal(Exception):
    """An interlock does not hold: Refusal(code, sentence that says what to do instead)."""


class Rig:
    """One rig: what it was told, what it does, what it answered. `reset` says what started the chip.

    `lamp` is a pin: lit while a call may move the rig, blinking while it is stopped.
    """

    def __init__(
        self,
        device,
        tools,
        safe,
        send,
        watchdog_ms=2000,
        reset=None,
        longest_ms=120000,
        stop_input=None,
        lamp=None,
    ):
        self.device, self.tools, self.safe, self.send = device, tools, safe, send
        self.watchdog_ms, self.longest_ms, self.reset = watchdog_ms, longest_ms, reset
        self.results, self.order = {}, []  # the last answers by id: a repeated id is never run again
        self.running = None  # (id, generator, start)
        self.stop_input, self.input_told = stop_input, None
        self.lamp, self.lit = lamp, None
        self.stopped, self.attached = False, False
        self.ms, self.ticks = 0, time.ticks_ms()  # the link clock; ticks_ms itself wraps
        self.heard = 0
        self.dropped = 0  # what came and was no message
        safe()
        self.watch_input()

    def clock(self):
        """The link clock, ms."""
        now = time.ticks_ms()
        self.ms += time.ticks_diff(now, self.ticks)
        self.ticks = now
        return self.ms

    def held(self):
        """Whether the stop input was pressed and is not reset."""
        return self.stop_input is not None and self.stop_input.state() != "released"

    def watch_input(self):
        """Whether the stop input tells of something new; a press stops."""
        if self.stop_input is None:
            return False
        self.stop_input.look()
        before, self.input_told = self.input_told, self.stop_input.state()
        if self.held() and not self.stopped:
            self.safe()
            self.stopped = True
            self.end("stopped", "The call was stopped before its end.")
        return self.input_told != before

    def light(self):
        """Show on the lamp whether a call may move the rig."""
        lit = int(not self.stopped or self.clock() // 250 % 2)
        if self.lamp is not None and lit != self.lit:
            self.lit = lit
            self.lamp.value(lit)

    def status(self):
        """Who is there, and in which state."""
        state = "estop" if self.stopped else "online"
        who = {"device": self.device, "fw": "micropython rig 1", "boot": BOOT}
        more = {"watchdog_ms": self.watchdog_ms, "max_frame": MAX_FRAME, "dropped": self.dropped}
        more["m"] = self.clock()
        if self.reset:
            more["reset"] = self.reset
        if self.stop_input is not None:
            more["stop_input"] = self.stop_input.state()
        self.send(dict(v=1, op="status", state=state, **who, **more))

    def stop(self):
        """The emergency stop: safe first, words later."""
        self.safe()
        self.stopped, self.heard, self.attached = True, self.clock(), True
        self.end("stopped", "The call was stopped before its end.")
        self.status()

    def end(self, code, text):
        """End a running call as a fault."""
        if self.running:
            call_id, generator, start = self.running
            generator.close()
            self.safe()  # whatever the generator did on its way out
            self.answer(call_id, "fault", code, text, start)

    def take_json(self, text, before_stop=False):
        """A message as it came; what is none is counted. `before_stop`: it was sent before the last stop."""
        try:
            message = json.loads(text)
        except ValueError:
            message = None
        if isinstance(message, dict):
            self.take(message, before_stop)
        else:
            self.dropped += 1

    def take(self, message, before_stop=False):
        """One message from a host."""
        op, ours = message.get("op"), message.get("v", 1) == 1
        if not ours and op not in ("call", "init", "estop"):
            return
        known = op in ("ping", "hello", "estop", "reset")
        if op in ("call", "init") and isinstance(message.get("id"), (str, int)):
            known = op == "init" or (ours and not malformed(message))
            self.call(message, ours)
        if known:  # only what is understood puts the watchdog off
            self.heard, self.attached = self.clock(), True
        if op in ("call", "init"):
            return
        if op == "ping":
            self.send({"v": 1, "op": "pong", "m": self.clock(), "boot": BOOT})
        elif op == "hello":
            self.status()
        elif op == "estop":
            self.stop()
        elif op == "reset":
            if self.stop_input is not None and message.get("stop_input") is True and not before_stop:
                self.stop_input.forget()
            self.stopped = self.held() or (self.stopped and before_stop)
            self.status()

    def call(self, message, ours=True):
        """Answer a call, or start it. An id that is known is answered first, whatever comes with it."""
        call_id = message["id"]
        if call_id in self.results:
            self.send(self.results[call_id])
        elif self.running and self.running[0] == call_id:
            self.send({"v": 1, "op": "ack", "id": call_id, "eta": 2})
        elif message["op"] == "init":
            self.answer(call_id, "invalid", "no_simulator", "This is a physical device.")
        elif not ours or malformed(message):
            text = "A call needs a tool's name, args as an object and not_after as a number."
            self.answer(call_id, "invalid", "malformed", text)
        elif self.running:
            self.answer(call_id, "rejected", "busy", "Another call is running; wait for its result.")
        elif self.stopped:
            text = "The emergency stop is on. Reset the device first."
            if self.held():
                text = "The stop input was pressed. A person must release it and reset the device."
                text += " Make no more calls."
            self.answer(call_id, "rejected", "estop", text)
        elif message.get("boot") not in (None, BOOT):  # a broker may be late, and the ids are forgotten
            self.answer(call_id, "fault", "late", "The call was sent before the device was reset.")
        elif message.get("not_after") is not None and self.clock() > message["not_after"]:
            self.answer(call_id, "fault", "late", "The call came after its latest time to start.")
        elif message["tool"] not in self.tools:
            names = ", ".join(sorted(self.tools))
            self.answer(call_id, "invalid", "unknown_tool", "The tools are " + names + ".")
        else:
            (function, wanted), given = self.tools[message["tool"]], message.get("args") or {}
            fault = misfit(wanted, given)
            if fault:
                self.answer(call_id, "invalid", "bad_arguments", fault)
            else:
                self.run(call_id, function, given)

    def run(self, call_id, function, args):
        """Start a tool."""
        start = self.clock()
        try:
            value = function(**args)
        except Refusal as refusal:
            self.answer(call_id, "rejected", *refusal.args)
            return
        except Exception as error:
            self.safe()
            self.answer(call_id, "fault", "internal", repr(error), start)
            return
        if isinstance(value, dict):
            self.answer(call_id, "ok", value, None, start)
        else:
            self.running = (call_id, value, start)
            self.send({"v": 1, "op": "ack", "id": call_id, "eta": 2})
            self.step()

    def step(self):
        """Moves a running call on, and lets the watchdog look. Call it often."""
        if self.watch_input():
            self.status()
        self.light()
        if self.attached and not self.stopped and self.clock() - self.heard >= self.watchdog_ms:
            self.stop()
        if self.running:
            call_id, generator, start = self.running
            if self.clock() - start > self.longest_ms:
                self.end("overdue", "The call took longer than {} s.".format(self.longest_ms / 1000))
                return
            try:
                next(generator)
            except StopIteration as end:
                self.answer(call_id, "ok", end.value, None, start)
            except Refusal as refusal:
                self.answer(call_id, "rejected", refusal.args[0], refusal.args[1], start)
            except Exception as error:
                self.safe()
                self.answer(call_id, "fault", "internal", repr(error), start)

    def answer(self, call_id, status, detail, text, start=None):
        """A result, kept and sent: `detail` is the value, or the code of what went wrong."""
        now = self.clock()
        took = 0 if start is None else now - start
        result = {
            "v": 1,
            "op": "result",
            "id": call_id,
            "status": status,
            "t": now / 1000,
            "dur": took / 1000,
        }
        if status == "ok":
            result["value"] = detail
        else:
            result["error"] = {"code": detail, "message": text}
        if self.running and self.running[0] == call_id:
            self.running = None
        self.results[call_id] = result
        self.order.append(call_id)
        if len(self.order) > KEPT:
            del self.results[self.order.pop(0)]
        self.send(result)

    def sample(self, sensor, value):
        """A reading of a coarse sensor."""
        self.send({"v": 1, "op": "sample", "sensor": sensor, "value": value, "t": self.clock() / 1000})


def malformed(call):
    """Whether a call's parts are not of their types."""
    latest, given, boot = call.get("not_after"), call.get("args"), call.get("boot")
    return not (
        isinstance(call.get("tool"), str)
        and (given is None or isinstance(given, dict))
        and (latest is None or isinstance(latest, (int, float)))
        and (boot is None or isinstance(boot, (str, int)))
    )


def misfit(wanted, given):
    """What is wrong with the arguments, or None."""
    for name in given:
        if name not in wanted:
            return name + " is unknown"
    for name, (kind, low, high) in wanted.items():
        if name not in given:
            return name + " is missing"
        value = given[name]
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (number if kind is float else isinstance(value, kind)):
            return name + " has the wrong type"
        if kind is float and not low <= value <= high:
            return "{} must be from {} to {}".format(name, low, high)
    return None
