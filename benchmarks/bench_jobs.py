"""What `pathrig bench --jobs` saves against a server that answers several at a time.

python benchmarks/bench_jobs.py [--jobs 1 2 4] [--slots 4] [--seconds 0.5] [--fresh 24]

A stand-in of a server answers each request after some seconds, so many at a time, and calls a tool twice
before it ends an episode. Each number of jobs has a log of its own, in turn, on the same machine. Printed as
JSON: wall and processor seconds of the whole command, ratios to the first, and the most requests that were
open at once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CALLS = 2


class Standin(ThreadingHTTPServer):
    """A server of chat completions with so many slots."""

    daemon_threads = True

    def __init__(self, slots: int, seconds: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.slots, self.seconds = threading.Semaphore(slots), seconds
        self.lock, self.open, self.most = threading.Lock(), 0, 0

    def answer(self, body: Any) -> dict[str, Any]:
        """Return the next answer, once a slot was free for its time."""
        with self.lock:
            self.open += 1
            self.most = max(self.most, self.open)
        with self.slots:
            time.sleep(self.seconds)
        with self.lock:
            self.open -= 1
        made = sum(message["role"] == "tool" for message in body["messages"])
        tool = next(
            one["function"] for one in body["tools"] if not one["function"]["parameters"].get("required")
        )
        call = {"id": f"c{made}", "type": "function", "function": {"name": tool["name"], "arguments": "{}"}}
        message = {"content": "Done."} if made >= CALLS else {"content": None, "tool_calls": [call]}
        return {
            "choices": [{"message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 2000, "completion_tokens": 20},
        }


class Handler(BaseHTTPRequestHandler):
    """Its HTTP."""

    server: Standin

    def do_POST(self) -> None:
        """Answer a chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(self.server.answer(body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """Tell nothing of the model."""
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def measured(jobs: int, args: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Run a bench with so many jobs; return its figures."""
    server = Standin(args.slots, args.seconds)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    spec = f"http://127.0.0.1:{server.server_port}/v1#standin"
    command = [
        str(Path(sys.executable).with_name("pathrig")),
        "bench",
        spec,
        "--suite",
        "crud",
        "--fresh",
        str(args.fresh),
    ]
    command += ["--jobs", str(jobs), "--db", str(folder / f"{jobs}.db"), "--json"]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - begun
    server.shutdown()
    (card,) = json.loads(done.stdout)["cards"]
    assert card["episodes"] == args.fresh, card
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": round(wall, 1), "cpu": round(cpu, 1), "most_open": server.most}


def main() -> None:
    """Parse the command line, measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--fresh", type=int, default=24)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Any] = {str(jobs): measured(jobs, args, Path(folder)) for jobs in args.jobs}
    first = found[str(args.jobs[0])]
    for one in found.values():
        one["wall_ratio"] = round(one["wall"] / first["wall"], 2)
    print(json.dumps(found | {"cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}, indent=2))


if __name__ == "__main__":
    main()
