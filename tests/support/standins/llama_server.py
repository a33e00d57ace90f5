"""A stand-in for llama.cpp's llama-server: its arguments, its key, its pages, and the shape of its answers.

What it does is in the model's file, a JSON object: `load` seconds, or `die` with these last words; `answers`
are messages, one a request; `exit` ends it at the first request.
"""

import argparse
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

parser = argparse.ArgumentParser(allow_abbrev=False)
for name in ("--model", "--alias", "--host", "--ctx-size", "--parallel", "--threads", "--n-gpu-layers"):
    parser.add_argument(name)
parser.add_argument("--port", type=int)
parser.add_argument("--jinja", action="store_true")
given = parser.parse_args()
what = json.loads(Path(given.model).read_text())
begun = time.monotonic()
print("build: 6800 (stand-in)", file=sys.stderr)
if "die" in what:
    print(*what["die"], sep="\n", file=sys.stderr)
    sys.exit(1)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/health":
            if time.monotonic() - begun < what.get("load", 0):
                self.answer(503, {"error": {"code": 503, "message": "Loading model"}})
            else:
                self.answer(200, {"status": "ok"})
        elif self.path == "/v1/models":
            meta = {"n_ctx_train": 40960}
            self.answer(200, {"data": [{"id": given.alias, "owned_by": "llamacpp", "meta": meta}]})
        elif self.path == "/props" and self.allowed():
            settings = {"n_ctx": int(given.ctx_size)}
            props = {
                "default_generation_settings": settings,
                "chat_template": what.get("template", "{{ x }}"),
                "build_info": "b6800",
            }
            self.answer(200, props | what.get("props", {}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed():
            return
        if "exit" in what:
            print(what["exit"], file=sys.stderr, flush=True)
            os._exit(134)
        if not given.jinja:
            self.answer(500, {"error": {"message": "tools param requires --jinja flag"}})
            return
        message = what["answers"].pop(0)
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        timings = {"cache_n": 900, "prompt_n": 100, "prompt_ms": 50.0, "predicted_n": 9, "predicted_ms": 90.0}
        self.answer(
            200,
            {
                "choices": [{"finish_reason": finish, "index": 0, "message": message}],
                "usage": {"completion_tokens": 9, "prompt_tokens": 1000, "total_tokens": 1009},
                "timings": timings,
                "asked": body,
            },
        )

    def allowed(self):
        if self.headers.get("Authorization") == f"Bearer {os.environ['LLAMA_API_KEY']}" and not what.get(
            "deaf"
        ):
            return True
        self.answer(401, {"error": {"message": "Invalid API Key", "code": 401}})
        return False

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


ThreadingHTTPServer((given.host, given.port), Handler).serve_forever()
