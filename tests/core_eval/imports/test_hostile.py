"""Whatever a file holds, an import ends with episodes, or with a line that says why not."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import foreign_traces as files
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_eval.cli.main import main
from core_eval.imports.record import BrokenRecord
from core_eval.imports.registry import read_traces

CHAT = files.chat(
    files.asks(files.call("a", "look", {"x": 1})), files.answer("a", "ok"), tools=[{"name": "t"}]
)
ITEM = {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"}
SPAN = files.span("t", 1, "execute_tool", tool__name="look", tool__call__arguments={"x": 1})
SAMPLES: dict[str, Any] = {
    "openai": CHAT,
    "responses": {"object": "response", "input": "Go.", "output": [ITEM, {"type": "message", "content": []}]},
    "tau2": files.tau2([files.simulation(1, "1", "1", "user_of_1", start_time="2026-01-01T00:00:00")]),
    "inspect": {"eval": {"task": "t"}, "plan": {}, "samples": [files.inspect_sample()]},
    "otel": files.otlp(SPAN, files.span("t", 2, "invoke_agent", agent__name="m", tool__definitions=[])),
    "core": [{"prompt_id": 1, "calls": [{"name": "look", "arguments": {}, "status": "error"}]}],
    "pathrig": {"trace": 1, "task": "a", "calls": [{"name": "look", "group": 1, "words": "x"}]},
}
ODD = st.sampled_from(
    [None, True, 0, -1, 10**40, 1e308, float("nan"), "", "\ud800", "\x00", "{", "2020-13-01", [], {}, [None]]
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in below for place in places(item, (*path, key)))]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A good file with some of its values replaced, and perhaps cut off."""
    value = json.loads(json.dumps(SAMPLES[draw(st.sampled_from(sorted(SAMPLES)))]))
    for _ in range(draw(st.integers(0, 3))):
        *path, last = draw(st.sampled_from(places(value)[1:] or [(None,)]))
        holder = value
        for key in path:
            holder = holder[key]
        if last is not None:
            holder[last] = json.loads(json.dumps(draw(ODD)))
    text = json.dumps(value)
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@settings(max_examples=15, deadline=None)
@given(documents())
def test_a_file_that_was_spoiled(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("spoiled")
    path = folder / "x.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    assert main(["import", str(path), "-o", str(folder / "x.db")]) in (0, 1, 2)
    shutil.rmtree(folder)


@settings(max_examples=10, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["", "{", "PK\x03\x04", "\x1f\x8b", '{"messages": ']))
def test_bytes_of_any_kind(tmp_path_factory: pytest.TempPathFactory, data: bytes, head: str) -> None:
    path: Path = tmp_path_factory.mktemp("bytes") / "x.json"
    path.write_bytes(head.encode("latin-1") + data)
    assert main(["import", str(path), "-o", str(path.with_name("x.db"))]) in (1, 2)


def test_a_zip_whose_parts_are_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = files.inspect_sample()
    path = files.eval_zip(tmp_path / "x.eval", [good, [], {"id": 1}, good])
    assert [number for number, _ in files.broken(path)] == [2, 3]
    data = bytearray(path.read_bytes())
    place = data.index(b"attachment://f1")
    data[place] ^= 1
    path.write_bytes(data)
    assert files.broken(path)[0][1].startswith("samples/0_epoch_1.json cannot be unpacked (Bad CRC-32")
    assert main(["import", str(path), "-o", str(tmp_path / "x.db")]) == 1
    assert "record 1: samples/0_epoch_1.json" in capsys.readouterr().err


TRACE = json.dumps(SAMPLES["pathrig"]).encode()
TWO = TRACE + b"\n" + TRACE + b"\n"


@pytest.mark.parametrize(
    ("name", "data", "faults"),
    [
        ("x.json", TWO + TRACE[:20], [(3, "no JSON: ")]),
        ("x.json", TWO + b"\0" * 40, [(3, "no JSON: ")]),
        ("x.json", TRACE + b"\r\n\xef\xbb\xbf" + TRACE + b"\r\n", []),
        ("x.jsonl", TRACE[:20] + b"\n" + TWO, [(1, "no JSON: ")]),
        ("x.jsonl", b"[" + TRACE + b",\n" + TRACE + b"]", []),
        ("x.jsonl", json.dumps([SAMPLES["pathrig"]] * 2, indent=1).encode(), []),
        (
            "x.gz",
            gzip.compress(TWO)[:-6],
            [(3, "from here on the file cannot be read: its gzip")],
        ),
        ("x.gz", gzip.compress(TWO) + b"rest", [(3, "from here on the file cannot be read: its gzip")]),
    ],
)
def test_lines_that_were_half_written_or_misnamed(
    tmp_path: Path, name: str, data: bytes, faults: list[tuple[int, str]]
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    found = list(read_traces(path))
    broken = [one for one in found if isinstance(one, BrokenRecord)]
    assert len(found) - len(broken) == 2
    assert [one.number for one in broken] == [number for number, _ in faults]
    assert all(one.why.startswith(why) for one, (_, why) in zip(broken, faults, strict=True))
