"""A stand-in for a server of chat completions: it gives the answers that it is made with."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from farm_rig import FARM_ROVER

from agents.agent import EpisodeContext, Limits
from agents.deadline import Cancellation
from agents.registry import make_agent


def completion(message, finish="tool_calls", usage=None):
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def tool_call(name, arguments, call_id="c1"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


class Server(ThreadingHTTPServer):
    """Gives the answers it was made with, one a request: a status and a body each.

    An answer may be a function of the request's body. `pages` are the answers to a GET, by their paths.
    """

    def __init__(self, *answers, pages=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = pages or {}
        self.answers, self.requests = list(answers), []
        self.release = threading.Event()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, self.headers.get("Authorization"), json.loads(body)))
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        status, answer, *headers = answer(self.server.requests[-1][2]) if callable(answer) else answer
        if status is None:
            self.server.release.wait(20)
            return
        self._send(status, answer, headers)

    def do_GET(self):
        self._send(200 if self.path in self.server.pages else 404, self.server.pages.get(self.path, {}))

    def _send(self, status, answer, headers=()):
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def serving(*answers, pages=None, model="qwen3"):
    server = Server(*answers, pages=pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server, f"openai:http://127.0.0.1:{server.server_port}/v1#{model}"
    finally:
        server.release.set()
        server.shutdown()
        thread.join()
        server.server_close()


DONE = completion({"content": "Done."}, "stop")


def started(spec, cancellation=None, **limits):
    """Return the agent of a specification, or of one that is made, in an episode with the rover's tools."""
    agent = make_agent(spec) if isinstance(spec, str) else spec
    agent.start(
        EpisodeContext(
            "Go.",
            FARM_ROVER.tools,
            seed=4,
            limits=Limits(**limits),
            cancellation=cancellation or Cancellation(),
        )
    )
    return agent
