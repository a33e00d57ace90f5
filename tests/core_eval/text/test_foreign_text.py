"""Foreign files unpack within bounds: a small gzip may hold a thousand times its size."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc

import pytest

from configs.core_tasks import load_core_file
from configs.errors import ConfigError
from configs.yaml_file import load_yaml
from core_eval.cli.main import main
from core_eval.text import foreign_text
from core_eval.text.foreign_text import STDIN, ForeignTextError, open_lines, read_text

MIB = 1 << 20
LINE = b"x: " + 1020 * b"1" + b"\n"
LINES = LINE * (40 * MIB // len(LINE))


@pytest.fixture
def peak(monkeypatch):
    """The peak of allocated bytes within the test, with a bound of 1 MiB."""
    monkeypatch.setattr(foreign_text, "MOST_BYTES", MIB)
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("bomb", [bytes(40 * MIB), LINES], ids=["one line", "many lines"])
@pytest.mark.parametrize("read", [load_yaml, load_core_file, read_text])
def test_a_packed_file_is_read_no_further_than_its_bound(tmp_path, peak, bomb, read):
    path = tmp_path / "bomb.yaml"
    path.write_bytes(gzip.compress(bomb, 1))
    tracemalloc.reset_peak()
    begun = tracemalloc.get_traced_memory()[0]
    with pytest.raises((ConfigError, ForeignTextError), match=r"has more than 1,048,576 bytes"):
        read(path)
    assert peak() - begun < 8 * MIB


def test_standard_input_is_bounded_too(monkeypatch, peak):
    raw = io.BufferedReader(io.BytesIO(gzip.compress(LINES, 1)))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))
    with pytest.raises(ForeignTextError, match="has more than"):
        read_text(STDIN)


def test_lines_stream_however_many_there_are(tmp_path, peak):
    path = tmp_path / "traces.jsonl.gz"
    path.write_bytes(gzip.compress(LINES, 1))
    tracemalloc.reset_peak()
    begun = tracemalloc.get_traced_memory()[0]
    with open_lines(path) as found:
        assert sum(1 for _ in found.lines) == len(LINES) // len(LINE)
    assert peak() - begun < MIB


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_has_a_bound(tmp_path, peak, encoding):
    path = tmp_path / "traces.jsonl"
    path.write_bytes(f"{{}}\n{'x' * 2 * MIB}".encode(encoding))
    with open_lines(path) as found:
        assert next(found.lines) == b"{}\n"
        with pytest.raises(ForeignTextError, match=r"a line has more than 1,048,576 bytes"):
            next(found.lines)


def test_a_bomb_is_one_line_for_the_user(tmp_path, peak, capsys):
    path = tmp_path / "bomb.yaml"
    path.write_bytes(gzip.compress(LINES, 1))
    for arguments in (["tasks", "list", str(path)], ["score", "--traces", str(path), "--tasks", str(path)]):
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert "has more than 1,048,576 bytes" in error and "Traceback" not in error


POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{64 * 'a'}\nsize 73400320\n"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("read", [load_yaml, load_core_file, read_text])
def test_a_git_lfs_pointer_is_not_read_as_its_file(tmp_path, packed, read):
    path = tmp_path / "results.json"
    path.write_bytes(gzip.compress(POINTER.encode()) if packed else POINTER.encode())
    with pytest.raises((ConfigError, ForeignTextError), match=r"is a Git LFS pointer, not the file itself"):
        read(path)


def test_a_git_lfs_pointer_is_one_line_for_the_user(tmp_path, capsys):
    tasks, pointer = tmp_path / "tasks.json", tmp_path / "traces.jsonl"
    nodes = [{"name": "start", "is_final": True, "transitions": []}]
    task = {"prompt_id": 1, "world": "farm", "prompt": "Wait.", "nodes": nodes, "alphabet": {}}
    tasks.write_text(json.dumps([task]))
    pointer.write_text(POINTER)
    for arguments in (
        ["tasks", "list", str(pointer)],
        ["score", "--traces", str(pointer), "--tasks", str(tasks)],
        ["score", "--traces", str(tasks), "--tasks", str(pointer)],
    ):
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert str(pointer) in error and "`git lfs pull`" in error and error.count("\n") == 1
