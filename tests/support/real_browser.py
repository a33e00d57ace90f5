"""A real browser for tests of a page's own JavaScript: headless Chromium, driven over its DevTools socket."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WAIT_SECONDS = 30.0


class Tab:
    """A page that Chromium shows; JavaScript can be run in it."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._number = 0

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        parameters = {"expression": script, "returnByValue": True, "awaitPromise": True}
        answer = self._command("Runtime.evaluate", parameters)
        # While a page is being left, there is nothing to run a script in.
        result = answer.get("result", {"result": {}})
        assert "exceptionDetails" not in result, answer
        return result["result"].get("value")

    def emulate(self, *, width: int, height: int, dark: bool = False) -> None:
        """A screen of so many pixels, light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._command("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._command("Emulation.setEmulatedMedia", {"features": [scheme]})

    def picture(self) -> bytes:
        """What the screen shows, as PNG, without scroll bars."""
        self.run("document.documentElement.style.scrollbarWidth = 'none'")
        answer = self._command("Page.captureScreenshot", {"format": "png"})
        return base64.b64decode(answer["result"]["data"])

    def _command(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while (answer := json.loads(self._socket.recv(timeout=WAIT_SECONDS))).get("id") != self._number:
            pass
        return dict(answer)

    def wait(self, script: str) -> Any:
        """The value of an expression as soon as it is true."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not (value := self.run(script)):
            assert time.monotonic() < deadline, f"{script} never holds; {self.run('document.body.innerText')}"
            time.sleep(0.05)
        return value


@contextmanager
def chromium(url: str) -> Iterator[Tab]:
    """A tab with this page. Skips the test where there is no browser, or it does not start."""
    client = pytest.importorskip("websockets.sync.client", reason="drives the browser with websockets")
    if CHROMIUM is None:
        pytest.skip("the page's JavaScript is run by Chromium, which is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--remote-debugging-port=0", f"--user-data-dir={profile}", url,
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            address = _page_address(Path(profile) / "DevToolsActivePort", process)
            with client.connect(address, max_size=None) as socket:
                tab = Tab(socket)
                tab.wait("location.href !== 'about:blank' && document.readyState === 'complete'")
                yield tab
        finally:
            # Its helpers are in the same group, and use the profile until they end.
            os.killpg(process.pid, 9)
            process.wait()


def _page_address(told: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if told.exists() and (lines := told.read_text().splitlines()):
            with urlopen(f"http://127.0.0.1:{lines[0]}/json/list", timeout=5) as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.05)
    pytest.skip("Chromium is installed, but does not start here")
