"""`mcp:` rigs: a server of the official SDK is the rig, over stdio and streamable HTTP."""

from __future__ import annotations

import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import ROOT
from processes import ended
from warm_pathrig import warm_pathrig

from agents.mcp.server import tool_annotations
from configs.device_types import load_device
from core_eval.call_status import CallStatus
from core_eval.cli.main import main
from core_eval.log import LogReader
from devices.device_type import DeviceType
from devices.outcome import StopOutcome
from devices.sensors import Sample
from devices.tool import ArgumentsError, Effect
from firmware_bridge.client import RigClient
from firmware_bridge.link import LinkError
from firmware_bridge.links import open_link
from firmware_bridge.mcp.device_file import device_file
from firmware_bridge.mcp.session import ServerFacts

pytestmark = pytest.mark.slow
SHOP_FILE = str(ROOT / "tests" / "support" / "mcp_shop.py")
SHOP = f"{sys.executable} {SHOP_FILE}"
"""For tests of the server's process."""
TASKS = """
tasks:
  - id: stock_up
    device: shop-tools.yaml
    prompt: Look at the stock, deliver 3 pears, and sell 4 pears and 2 apples.
    plan:
      - read_stock: {}
      - deliver: {article: pears, count: 3}
      - sell_all: {lines: [{article: pears, count: 4}, {article: apples, count: 2}]}
  - id: arson
    device: shop-tools.yaml
    prompt: End it.
    plan:
      - burn_down: {}
      - read_stock: {}
"""


def warm_shop() -> str:
    return shlex.join([*warm_pathrig(), SHOP_FILE])


@contextmanager
def shop(ledger: Path | None = None, *, suffix: str = "", url: str | None = None) -> Iterator[RigClient]:
    """A client of a shop, ready for calls."""
    address = url or f"{warm_shop()} - {ledger or ''}"
    with closing(RigClient(open_link(f"mcp:{address}{suffix}"))) as client:
        client.open()
        yield client


@contextmanager
def http_shop(ledger: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*warm_pathrig(), SHOP_FILE, str(port), str(ledger)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield server, f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rig's file and the device file that the kit wrote, and tasks."""
    folder = tmp_path_factory.mktemp("shop")
    assert main(["rigs", "new", str(folder / "shop.yaml"), "--name", "shop", "--mcp", warm_shop()]) == 0
    (folder / "tasks.yaml").write_text(TASKS)
    return folder


@pytest.fixture(scope="module")
def device(files: Path) -> DeviceType:
    return load_device(str(files / "shop-tools.yaml"))


def test_the_tools_of_a_server_become_a_device_type(device: DeviceType) -> None:
    assert device.name == "Corner-shop"
    assert device.advice == "Look at the stock before you sell."
    assert device.reads == ("read_stock",)
    assert device.by_name["deliver"].effect is Effect.WRITE
    device.validate("deliver", {"article": "figs"})
    device.validate("deliver", {"article": "figs", "note_to_us": "ripe"})
    for wrong in ({"article": 3}, {"count": 2}, {"article": "figs", "colour": "blue"}):
        with pytest.raises(ArgumentsError):
            device.validate("deliver", wrong)


def test_what_a_call_leaves_out_is_no_part_of_it(device: DeviceType) -> None:
    assert device.validate("deliver", {"article": "figs"}).model_dump() == {"article": "figs", "count": 1}


def test_a_model_reads_the_servers_own_schema(device: DeviceType) -> None:
    function = device.by_name["sell_all"].schema()["function"]
    line = function["parameters"]["properties"]["lines"]["items"]
    assert line["properties"]["count"]["type"] == "integer"
    deliver = device.by_name["deliver"].schema()["function"]["parameters"]
    assert deliver["required"] == ["article"]
    assert deliver["properties"]["note_to_us"] == {"description": "Note To Us", "type": "string"}


@pytest.mark.parametrize(
    ("tool", "hints"),
    [
        ("read_stock", (True, False, True)),
        ("deliver", (False, False, False)),
        ("sell_all", (False, True, True)),
        ("burn_down", (False, True, False)),
    ],
)
def test_annotations_come_and_go_unchanged(
    device: DeviceType, tool: str, hints: tuple[bool, bool, bool]
) -> None:
    stated = tool_annotations(device.by_name[tool])
    assert (stated.read_only_hint, stated.destructive_hint, stated.idempotent_hint) == hints


def test_each_episode_has_a_server_of_its_own(files: Path, tmp_path: Path) -> None:
    task, rig, db = f"{files / 'tasks.yaml'}#stock_up", str(files / "shop.yaml"), tmp_path / "run.db"
    assert main(["tasks", "verify", "--static", str(files / "tasks.yaml"), "--rig", rig]) == 0
    given = ["--task", task, "--rig", rig, "--agent", "oracle", "--episodes", "2", "--db", str(db)]
    assert main(["run", *given]) == 0
    with LogReader(db) as reader:
        episodes = reader.episodes()
        assert [episode.status for episode in episodes] == ["completed"] * 2
        assert [episode.scores["path_correctness"] for episode in episodes] == [1.0, 1.0]
        assert [episode.stop for episode in episodes] == ["sent", "sent"]
        assert [episode.guard for episode in episodes] == ["block", "block"]
        for episode in episodes:
            first, second, _ = reader.steps(episode.id)
            assert first.result == {"counts": {"apples": 10, "pears": 2}, "total": 12}
            assert second.result == {"result": "there are 5 pears"}


def test_a_server_that_dies_ends_the_episode_with_its_last_words(
    files: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("firmware_bridge.requests", "core_eval.rig.session"):
        monkeypatch.setattr(f"{module}.LINK_BACK_SECONDS", 80.0)
    task, db = f"{files / 'tasks.yaml'}#arson", tmp_path / "run.db"
    began = time.monotonic()
    given = ["--task", task, "--rig", str(files / "shop.yaml"), "--agent", "oracle", "--db", str(db)]
    assert main(["run", *given]) == 3
    # Nothing is waited for that cannot come back.
    assert time.monotonic() - began < 60.0
    with LogReader(db) as reader:
        (episode,) = reader.episodes()
        assert (episode.status, episode.stop) == ("error", "not sent")
        (step,) = reader.steps(episode.id)
        assert (step.status, step.error_code) == (CallStatus.FAULT, "link")
        assert "the shop has burnt down" in str(step.error_message)
    assert "the shop has burnt down" in capfd.readouterr().err


def test_what_the_server_calls_an_error_is_a_refusal(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with shop(ledger) as client:
        refused = client.call("sell_all", {"lines": [{"article": "pears", "count": 5}]})
        unfit = client.call("sell_all", {"lines": [{"article": "pears"}]})
        unknown = client.call("give_away", {})
        assert client.call("read_stock", {}).value == {"counts": {"apples": 10, "pears": 2}, "total": 12}
    assert (refused.status, refused.code) == (CallStatus.REJECTED, "refused")
    assert "only 2 pears are left" in str(refused.message)
    assert unfit.status in (CallStatus.REJECTED, CallStatus.INVALID)
    assert "count" in str(unfit.message)
    assert (unknown.status, unknown.code) == (CallStatus.INVALID, "unknown_tool")
    assert not ledger.exists()


def test_a_call_without_an_answer_is_cancelled_after_its_time(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with shop(ledger, suffix="#seconds=0.5") as client:
        late = client.call("count_slowly", {"seconds": 30.0})
        assert (late.status, late.code) == (CallStatus.FAULT, "timeout")
        assert client.call("read_stock", {}).status == CallStatus.OK
    assert ledger.read_text().split() == ["counting", "cancelled"]


def test_a_stop_cancels_the_running_call_and_is_never_confirmed(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with shop(ledger) as client:
        assert not client.confirms_stop
        stops: list[StopOutcome] = []

        def stop() -> None:
            while not ledger.exists():
                time.sleep(0.02)
            stops.append(client.estop())

        person = threading.Thread(target=stop)
        person.start()
        outcome = client.call("count_slowly", {"seconds": 30.0})
        person.join()
        assert (outcome.status, outcome.code) == (CallStatus.FAULT, "stopped")
        assert stops == [StopOutcome.SENT]
        assert client.call("read_stock", {}).code == "estop"
        assert client.reset()
        assert client.call("read_stock", {}).status == CallStatus.OK
    assert ledger.read_text().split() == ["counting", "cancelled"]


def test_changed_tools_are_named_and_taken_over() -> None:
    samples: list[Sample] = []
    with closing(RigClient(open_link(f"mcp:{warm_shop()}"), on_sample=samples.append)) as client:
        client.open()
        assert client.call("open_counter", {}).status == CallStatus.OK
        deadline = time.monotonic() + 10
        while not samples and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [(sample.sensor, sample.value) for sample in samples] == [
            ("tools", "removed deliver; added weigh")
        ]
        assert client.call("weigh", {"article": "pears"}).value == {"result": 1.5}
        assert client.call("deliver", {"article": "pears"}).code == "unknown_tool"


def test_a_server_with_a_url(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with http_shop(ledger) as (server, url), shop(url=url) as client:
        assert client.call("deliver", {"article": "figs", "count": 2}).value == {"result": "there are 2 figs"}
        assert client.estop() is StopOutcome.SENT
        assert client.reset()
        # The server goes on running between sessions, and with it its stock.
        assert client.call("read_stock", {}).value == {
            "counts": {"apples": 10, "pears": 2, "figs": 2},
            "total": 14,
        }
        server.kill()
        server.wait()
        lost = client.call("read_stock", {})
        assert (lost.status, lost.code) == (CallStatus.FAULT, "link")
        with pytest.raises(LinkError, match="is lost"):
            client.regain(10.0)
        assert client.estop() is StopOutcome.NOT_SENT
    assert ledger.read_text() == "deliver figs 2 None\n"


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("mcp:", "write mcp:'PROGRAM ARGS'"),
        ("mcp:no-such-program --really", "no program 'no-such-program'"),
        ("mcp:'", "No closing quotation"),
        ("mcp:true#seconds=0", "above 0"),
        (f"mcp:{sys.executable} -c \"import sys; sys.exit('out of beans')\"", "out of beans"),
        ("mcp:http://127.0.0.1:9/mcp", "is no MCP server that answers"),
    ],
)
def test_what_is_no_server_is_one_line(address: str, says: str) -> None:
    with pytest.raises(LinkError) as caught:
        open_link(address)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_password_in_a_url_is_shown_nowhere() -> None:
    with pytest.raises(LinkError) as caught:
        open_link("mcp:http://me:secret@127.0.0.1:9/mcp")
    assert "secret" not in str(caught.value)
    assert "me:***@127.0.0.1" in str(caught.value)


def tool(name: str, **properties: Any) -> Any:
    import mcp_types as types

    schema = {
        "type": "object",
        "properties": properties,
        "required": [],
        "$defs": {"Side": {"enum": ["l", "r"]}},
    }
    return types.Tool(name=name, input_schema=schema)


def test_what_a_device_file_has_no_place_for_is_named() -> None:
    tools = (
        tool("list/all"),
        tool("export", copy={"type": "string"}),
        tool("turn", to={"$ref": "#/$defs/Side"}),
    )
    made = device_file(ServerFacts("x", "1", "2025-11-25", "", tools), "mcp:x")
    assert list(made.left_out) == ["list/all", "export"]
    assert "reserved name" in made.left_out["export"]
    assert "# Left out: export" in made.text
    arguments = yaml.safe_load(made.text)["tools"]["turn"]["arguments"]
    assert arguments["to"] == {"type": "text", "choices": ["l", "r"], "description": "to", "optional": True}


@pytest.mark.parametrize(
    ("schema", "entry"),
    [
        (
            {"type": "integer", "minimum": 1, "default": 3},
            {"type": "integer", "min": 1, "unit": "1", "default": 3},
        ),
        (
            {"anyOf": [{"type": "number"}, {"type": "null"}]},
            {"type": "number", "unit": "1", "optional": True},
        ),
        ({"type": ["string", "null"], "default": None}, {"type": "text", "optional": True}),
        ({"enum": [1, "a"]}, {"type": "json", "schema": {"enum": [1, "a"]}, "optional": True}),
        (
            {"type": "integer", "maximum": 2, "default": 3},
            {"type": "integer", "max": 2, "unit": "1", "optional": True},
        ),
        ({}, {"type": "json", "schema": {}, "optional": True}),
        (True, {"type": "json", "schema": {}, "optional": True}),
    ],
)
def test_schemas_become_typed_arguments(schema: Any, entry: dict[str, Any], tmp_path: Path) -> None:
    made = device_file(ServerFacts("x", "1", "2025-11-25", "", (tool("do", it=schema),)), "mcp:x")
    (tmp_path / "x.yaml").write_text(made.text)
    load_device(str(tmp_path / "x.yaml"))
    assert yaml.safe_load(made.text)["tools"]["do"]["arguments"]["it"] == {**entry, "description": "it"}


def test_a_signal_ends_the_server_with_the_run(files: Path, tmp_path: Path) -> None:
    """Ctrl-C reaches the run alone; the server is ended by it, not left behind."""
    ledger, rig, tasks = tmp_path / "ledger", tmp_path / "rig.yaml", tmp_path / "tasks.yaml"
    rig.write_text(f"name: shop\nurl: 'mcp:{SHOP} - {ledger}'\ndevice: {files / 'shop-tools.yaml'}\n")
    tasks.write_text(
        f"tasks:\n  - id: count\n    device: {files / 'shop-tools.yaml'}\n    prompt: Count.\n"
        "    plan: [{count_slowly: {seconds: 30}}]\n"
    )
    given = [
        "run",
        "--allow-programs",
        "--task",
        str(tasks),
        "--rig",
        str(rig),
        "--agent",
        "oracle",
        "--db",
        str(tmp_path / "x.db"),
    ]
    run = subprocess.Popen([sys.executable, "-m", "core_eval.cli.main", *given], start_new_session=True)
    deadline = time.monotonic() + 30
    while not ledger.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 130
    assert ledger.read_text().split() == ["counting", "cancelled"]
    ours = [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(ledger) in _text(path)]
    assert ours == []
    with LogReader(tmp_path / "x.db") as reader:
        assert [(row.status, row.stop) for row in reader.episodes()] == [("interrupted", "sent")]


SLEEPER = """
import subprocess, sys, time
# The server sees the end of its input; this one, which started it, does not.
server = subprocess.Popen(sys.argv[1:])
time.sleep(60)
"""
OPENS = """
import sys, time
from pathlib import Path
from firmware_bridge.links import open_link
link = open_link("mcp:" + sys.argv[1])
print("open", flush=True)
time.sleep(60)
"""


def test_a_server_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    address = f"{sys.executable} {tmp_path / 'sleeper.py'} {SHOP} - {tmp_path / 'ledger'}"
    command = [sys.executable, "-c", OPENS, address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as run:
        assert run.stdout is not None and run.stdout.readline() == b"open\n"
        ours = [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if str(tmp_path) in _text(path) and int(path.parent.name) != run.pid
        ]
        assert len(ours) == 3, "keeper, sleeper and server"
        run.send_signal(signal.SIGKILL)
    assert all(map(ended, ours))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
