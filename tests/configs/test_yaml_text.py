"""YAML from outside: what configurations need is read, and everything else is one line, in no time."""

import sys
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import yaml

from configs import yaml_text
from configs.errors import ConfigError
from configs.tasks_loader import load_task, task_files
from configs.yaml_file import load_yaml
from configs.yaml_text import MAX_ALIASED, MAX_BYTES, MAX_DEPTH, YamlError, parse_yaml
from core_eval.cli.main import main

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)
CHAIN = "a0: &a0 {k: 1}\n" + "".join(f"a{n}: &a{n} {{k: *a{n - 1}}}\n" for n in range(1, 3000))
MERGED_LAUGHS = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], k{n}: 1}}\n" for n in range(1, 10)
)


@pytest.fixture(params=["C", "pure"], autouse=True)
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """libyaml's loader, and the one for a PyYAML that was built without it."""
    if request.param == "C" and not hasattr(yaml, "CSafeLoader"):
        pytest.skip("PyYAML without libyaml")
    monkeypatch.setattr(yaml_text, "Loader", yaml.CSafeLoader if request.param == "C" else yaml.SafeLoader)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("base: &b {x: 1, y: 2}\nown: {<<: *b, y: 3}\n", {"x": 1, "y": 3}),
        ("a: &a {x: 1}\nb: &b {x: 2, z: 3}\nown: {y: 0, <<: [*a, *b]}\n", {"x": 1, "y": 0, "z": 3}),
        ("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nown:\n  <<: *b\n  z: 3\n", {"x": 1, "y": 2, "z": 3}),
        ("own: {on: true, off: no, yes: 1, 2: two}\n", {"on": True, "off": False, "yes": 1, 2: "two"}),
        ("own: [1, 0x10, 1.5, .inf, ~, null, '2024-99-99', \"on\"]\n",
         [1, 16, 1.5, float("inf"), None, None, "2024-99-99", "on"]),
        ("a: &a [1]\nown: [*a, *a]\n", [[1], [1]]),
        ("own: !!str 5\n", "5"),
        ("\ufeffown: 1\n", 1),
    ],
)  # fmt: skip
def test_what_configurations_need_is_read(tmp_path: Path, text: str, value: Any) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    assert load_yaml(path).data["own"] == value


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("x: 1\na: &a [*a]\n", 2, "an alias stands inside what it means"),
        ("x: 1\na: &a {b: {c: *a}}\n", 2, "an alias stands inside what it means"),
        ("x: 1\na: " + "[" * 5000 + "]" * 5000, 2, f"nested deeper than {MAX_DEPTH} levels"),
        ("x: 1\na: " + "{a: " * 200_000, 2, f"nested deeper than {MAX_DEPTH} levels"),
        (
            "x: 1\na:\n" + "".join(f"{' ' * n}- \n" for n in range(1, 500)),
            None,
            f"nested deeper than {MAX_DEPTH}",
        ),
        pytest.param(CHAIN, None, f"nested deeper than {MAX_DEPTH} levels", marks=pytest.mark.slow),
        ("x: 1\na: " + "9" * 5000, 2, "999... is no int of at most"),
        ("x: 1\n? [a, b]\n: c\n", 2, "a key must be text"),
        ("x: 1\n? {a: b}\n: c\n", 2, "a key must be text"),
        ("x: 1\na: 2024-99-99\n", 2, "2024-99-99 reads as a date; write it in quotes"),
        ("x: 1\na: 2024-01-01\n", 2, "2024-01-01 reads as a date; write it in quotes"),
        ("x: 1\na: {b: 1, b: 2}\n", 2, "the key 'b' stands twice"),
        ("a: &a {x: 1}\nb:\n  <<: *a\n  <<: *a\n", 4, "the key '<<' stands twice"),
        ("x: 1\nb: {<<: 5}\n", 2, "<< takes a mapping"),
        ("x: 1\na: *nowhere\n", 2, "undefined alias"),
        ("x: 1\na: !!bool maybe\n", 2, "maybe is no bool"),
        ("x: 1\na: !!int five\n", 2, "five is no int"),
        ("x: 1\na: !!float big\n", 2, "big is no float"),
        ("x: 1\na: !!set {b}\n", 2, "the tag !!set is not known here"),
        ("x: 1\na: !!binary aGk=\n", 2, "the tag !!binary is not known here"),
        ("x: 1\na: !!python/object/apply:os.system [ls]\n", 2, "the tag !!python/object/apply:os.system"),
        ("x: 1\na: !own 5\n", 2, "the tag !own is not known here"),
        ("x: 1\n---\ny: 1\n", 2, ""),
        ("x: 1\na: \x07\n", None, ""),
        (LAUGHS, 7, f"its aliases stand for more than {MAX_ALIASED:,} values"),
        (MERGED_LAUGHS, None, f"its aliases stand for more than {MAX_ALIASED:,} values"),
    ],
)
def test_anything_else_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, line: int | None, says: str
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    began = monotonic()
    with pytest.raises(ConfigError) as caught:
        load_yaml(path)
    assert monotonic() - began < 20.0
    assert str(caught.value).startswith(f"{path}:" if line is None else f"{path}:{line}: ")
    assert says in str(caught.value) and len(str(caught.value)) < 400
    assert main(["tasks", "list", str(path)]) == 2 or main(["tasks", "verify", str(path)]) == 2
    errors = capsys.readouterr().err
    assert "Traceback" not in errors and str(path) in errors


def test_a_file_may_use_an_anchor_many_times() -> None:
    assert len(parse_yaml("a: &a {x: 1}\nb: [" + "*a, " * 10_000 + "]\n").value["b"]) == 10_000


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ConfigError, match="has more than"):
        load_yaml(path)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.nightly)])
def test_every_shipped_task_file_is_read_by_either_loader(every: int, request: pytest.FixtureRequest) -> None:
    """libyaml takes a question mark at the end of plain text in a flow collection, the other does not.

    The other, which takes ten times as long, reads every fourth by day.
    """
    for file in list(task_files())[:: every if "pure" in request.node.name else 1]:
        assert load_yaml(file).data["tasks"]


def test_a_line_is_found_where_the_key_came_by_a_merge() -> None:
    text = parse_yaml("base: &b\n  x: 1\n  y: 2\nown:\n  <<: *b\n  z: [1, {q: 2}]\n")
    assert text.line("own") == 4
    assert text.line("own", "x") == 2
    assert text.line("own", "z", 1, "q") == 6
    assert text.line("own", "nothing", "below") == 4
    assert text.line() == 1


def test_an_error_of_the_reader_is_a_yaml_error() -> None:
    with pytest.raises(YamlError, match="nested deeper"):
        parse_yaml("- " * (sys.getrecursionlimit() * 10))


@pytest.mark.slow
@pytest.mark.parametrize("count", [5_000, pytest.param(20_000, marks=pytest.mark.nightly)])
def test_thousands_of_tasks_are_read(tmp_path: Path, count: int, request: pytest.FixtureRequest) -> None:
    if "pure" in request.node.name:
        pytest.skip("a PyYAML without libyaml takes a minute for 20,000")
    path = tmp_path / "tasks.yaml"
    path.write_text(
        "tasks:\n"
        + "".join(
            f"  - {{id: t{n}, world: farm_rover, prompt: Go., plan: [move_home, lock_safety_mode]}}\n"
            for n in range(count)
        )
    )
    began = monotonic()
    assert load_task(f"{path}#t{count - 1}").id == f"t{count - 1}"
    # 20,000 took 2 s here, and over 100 s with the loader in Python that looked at each alias again.
    assert monotonic() - began < 0.003 * count
