// A board in MicroPython's own interpreter: node micropython_board.mjs INTERPRETER EXAMPLE_FOLDER MAIN SOIL STOP IN OUT
// While the file STOP exists, the contact at every input is open.
// The file descriptors IN and OUT are its one link (a UART, or what the stand-in of umqtt says), neither of which may
// block; they are not standard input and output, since node makes those block. Pins go to standard error.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

const [interpreter, example, main, soil, stop, linkIn, linkOut] = process.argv.slice(2);
const { loadMicroPython } = await import(pathToFileURL(interpreter).href);
const mp = await loadMicroPython({ stdout: (text) => process.stderr.write(text + "\n"), linebuffer: true });
const nap = new Int32Array(new SharedArrayBuffer(4));

// The chip's watchdog looks on from a thread of its own: the interpreter may hang.
const fed = new BigInt64Array(new SharedArrayBuffer(8));
const WATCHDOG = `
  const { fed, milliseconds } = require("node:worker_threads").workerData;
  setInterval(() => {
    if (Date.now() - Number(Atomics.load(fed, 0)) > milliseconds) {
      require("node:fs").writeSync(2, "reset by the watchdog\\n");
      process.kill(process.pid, "SIGKILL");
    }
  }, 20);
`;

function write(text) {
  for (let rest = Buffer.from(text); rest.length > 0; ) {
    try {
      rest = rest.subarray(fs.writeSync(Number(linkOut), rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(nap, 0, 0, 2);
    }
  }
}

mp.registerJsModule("port", {
  feed: () => Atomics.store(fed, 0, BigInt(Date.now())),
  watch(milliseconds) {
    Atomics.store(fed, 0, BigInt(Date.now()));
    new Worker(WATCHDOG, { eval: true, workerData: { fed, milliseconds } });
  },
  read(most) {
    const buffer = Buffer.alloc(most);
    try {
      const count = fs.readSync(Number(linkIn), buffer);
      if (count === 0) process.exit(0);
      return buffer.toString("hex", 0, count);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(nap, 0, 0, 5);
      return "";
    }
  },
  write,
  pin: (number, value) => fs.writeSync(2, `pin ${number} ${value}\n`),
  adc: () => Number(soil),
  nap: (milliseconds) => Atomics.wait(nap, 0, 0, milliseconds),
  open: () => fs.existsSync(stop),
});

const shims = {
  // The interpreter's own sleep counts the milliseconds: a board that waits would take a whole core.
  "time.py": `
import port, sys
path = sys.path[:]
sys.path.clear()
from time import *
sys.path.extend(path)
def sleep_ms(milliseconds):
    port.nap(milliseconds)
def sleep(seconds):
    port.nap(1000 * seconds)
`,
  "machine.py": `
import port
from binascii import unhexlify
PWRON_RESET, HARD_RESET, WDT_RESET = 1, 2, 3
def reset_cause():
    return PWRON_RESET
class WDT:
    def __init__(self, timeout):
        port.watch(timeout)
    def feed(self):
        port.feed()
        for pin in Pin.watched:
            pin.watch()
class Pin:
    IN, OUT, PULL_UP, IRQ_RISING, IRQ_FALLING = 0, 1, 2, 4, 8
    watched = []
    def __init__(self, number, mode=0, pull=None, value=0):
        self.number, self.was = number, 0
    def value(self, value=None):
        if value is None:
            return int(port.open())
        port.pin(self.number, value)
    def irq(self, handler, trigger):
        self.handler, self.trigger = handler, trigger
        Pin.watched.append(self)
    def watch(self):
        before, self.was = self.was, self.value()
        if self.was != before and self.trigger == (Pin.IRQ_RISING if self.was else Pin.IRQ_FALLING):
            self.handler(self)
class ADC:
    def __init__(self, pin):
        pass
    def read_u16(self):
        return port.adc()
class UART:
    def __init__(self, number, baud, timeout):
        assert timeout == 0
    def read(self, most):
        return unhexlify(port.read(most)) or None
    def write(self, text):
        port.write(text)
`,
  "network.py": `
STA_IF = 0
class WLAN:
    def __init__(self, interface):
        pass
    def active(self, on):
        pass
    def connect(self, name, password):
        pass
    def isconnected(self):
        return True
`,
  "umqtt/simple.py": `
import json, port
from binascii import unhexlify
class MQTTClient:
    def __init__(self, name, host, port, keepalive=0):
        self.text = b""
    def say(self, **words):
        port.write(json.dumps(words) + "\\n")
    def set_callback(self, callback):
        self.callback = callback
    def set_last_will(self, topic, payload, retain, qos):
        self.say(do="will", topic=topic, payload=payload)
    def connect(self):
        self.say(do="connect")
    def subscribe(self, topic, qos):
        self.say(do="subscribe", topic=topic)
    def publish(self, topic, payload, retain, qos):
        self.say(do="publish", topic=topic, payload=payload, retain=retain, qos=qos)
    def ping(self):
        self.say(do="ping")
    def check_msg(self):
        self.text += unhexlify(port.read(4096))
        while b"\\n" in self.text:
            line, self.text = self.text.split(b"\\n", 1)
            topic, payload = json.loads(line)
            self.callback(topic.encode(), unhexlify(payload))
`,
};

mp.FS.mkdir("/umqtt");
for (const [name, text] of Object.entries(shims)) mp.FS.writeFile("/" + name, text);
for (const name of fs.readdirSync(example).filter((name) => name.includes(".")))
  mp.FS.writeFile("/" + name, fs.readFileSync(path.join(example, name), "utf8"));
mp.runPython(fs.readFileSync(path.join(example, main), "utf8"));
