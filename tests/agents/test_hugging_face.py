"""Models by their place on the Hugging Face Hub: a stand-in on loopback, by the library's own setting."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from agents.agent import AgentSpecError
from agents.forms import cached_file

pytest.importorskip("huggingface_hub")

CONTENT = b"GGUF of sorts" * 100
COMMIT = "0123456789abcdef0123456789abcdef01234567"
# The library waits before it tries again.
CODE = """
import json, sys, time
time.sleep = lambda seconds: None
from agents.agent import AgentSpecError
from agents.forms import cached_file
try:
    path = cached_file(sys.argv[1])
    print(json.dumps([str(path), path.read_bytes().decode()]))
except AgentSpecError as error:
    print(json.dumps(str(error)))
"""


class Hub(BaseHTTPRequestHandler):
    """Answers as the Hub does for one file."""

    asked: list[str]

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, *, with_body: bool) -> None:
        self.asked.append(f"{self.command} {self.path}")
        if self.path != "/some/model-GGUF/resolve/main/tiny.gguf":
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("ETag", f'"{hashlib.sha256(CONTENT).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        if with_body:
            self.wfile.write(CONTENT)

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OneHub", (Hub,), {"asked": asked}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def fetched(place: str, home: Path, endpoint: str, **env: str) -> object:
    # In a process of its own: the library reads its settings when it is imported.
    settings = {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_TELEMETRY": "1", **env}
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    done = subprocess.run(
        [sys.executable, "-c", CODE, place], env=kept | settings, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_file_is_downloaded_once(tmp_path: Path, hub: tuple[str, list[str]]) -> None:
    url, asked = hub
    path, content = fetched("some/model-GGUF:tiny.gguf", tmp_path, url)
    assert content == CONTENT.decode()
    assert Path(path).name == "tiny.gguf" and tmp_path in Path(path).parents
    # The cache calls the content by its hash.
    assert Path(path).resolve().name == hashlib.sha256(CONTENT).hexdigest()
    assert any(line.startswith("GET") for line in asked)
    asked.clear()
    assert fetched("some/model-GGUF:tiny.gguf", tmp_path, url, HF_HUB_OFFLINE="1") == [path, content]
    assert not asked


def test_what_cannot_be_had_is_one_line(tmp_path: Path, hub: tuple[str, list[str]]) -> None:
    said = fetched("some/model-GGUF:none.gguf", tmp_path, hub[0])
    assert isinstance(said, str) and said.startswith("hf:some/model-GGUF:none.gguf: cannot be downloaded: ")
    assert "404" in said and "\n" not in said


@pytest.mark.parametrize("offline", ["0", "1"])
def test_without_a_network_it_is_one_line(tmp_path: Path, offline: str) -> None:
    said = fetched("some/model-GGUF:tiny.gguf", tmp_path, "http://127.0.0.1:9", HF_HUB_OFFLINE=offline)
    assert isinstance(said, str) and "no network, and it is not in the cache" in said and "\n" not in said


@pytest.mark.parametrize("place", ["", "tiny.gguf", "some/model", "model:tiny.gguf", "a/b/c:tiny.gguf"])
def test_a_place_that_is_none(place: str) -> None:
    with pytest.raises(AgentSpecError, match="write hf:OWNER/NAME:FILE"):
        cached_file(place)


def test_without_the_library_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(AgentSpecError, match=r"pip install 'pathrig\[hf\]'"):
        cached_file("some/model:tiny.gguf")
