from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from configs.errors import ConfigError
from configs.yaml_file import load_yaml


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    size: int


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    boxes: list[Inner]


class Deep(BaseModel):
    model_config = ConfigDict(extra="forbid")
    prompt: str
    limits: Inner | None = None
    tables: dict[str, list[Inner]] = {}


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.yaml"
    path.write_text(text)
    return path


def test_a_wrong_value_is_named_with_file_line_and_key(tmp_path: Path) -> None:
    path = write(tmp_path, "boxes:\n  - size: 1\n  - size: big\n")
    with pytest.raises(ConfigError) as caught:
        load_yaml(path).validate(Outer)
    assert str(caught.value).startswith(f"{path}:3: boxes.1.size: ")
    assert "\n" not in str(caught.value)


def test_an_unknown_key_is_named_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "boxes:\n  - size: 1\n    colour: red\n")
    with pytest.raises(ConfigError, match=rf"{path}:3: boxes.0.colour: unknown key"):
        load_yaml(path).validate(Outer)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prmpt: x\n", ":1: prmpt: unknown key 'prmpt', did you mean 'prompt'?"),
        ("prmpt: x\nlimits: {}\n", ":1: prmpt: unknown key 'prmpt', did you mean 'prompt'? (and 1 more)"),
        ("prompt: 5\nlimts: {}\n", ":2: limts: unknown key 'limts', did you mean 'limits'? (and 1 more)"),
        ("prompt: x\nlimits: {sise: 1}\n", ":2: limits.sise: unknown key 'sise', did you mean 'size'?"),
        ("prompt: x\ntables: {a: [{size: 1}, {siz: 1}]}\n",
         ":2: tables.a.1.siz: unknown key 'siz', did you mean 'size'?"),
        ("prompt: x\nzzz: 1\n", ":2: zzz: unknown key 'zzz', remove or correct it"),
    ],
)  # fmt: skip
def test_an_unknown_key_goes_first_with_what_it_was_meant_to_be(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_yaml(path).validate(Deep)
    assert str(caught.value) == f"{path}{says}"


def test_several_faults_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "boxes:\n  - size: a\n  - size: b\n")
    with pytest.raises(ConfigError, match=r"and 1 more"):
        load_yaml(path).validate(Outer)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("boxes: []\nboxes: []\n", ":2: the key 'boxes' stands twice"),
        ("boxes: [\n", ":2: "),
        ("- 1\n", ": must hold a mapping"),
        ("", ": must hold a mapping"),
        ("a: !!python/object:os.system {}\n", "the tag !!python/object:os.system is not known here"),
    ],
)
def test_what_is_no_mapping_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_yaml(path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read: No such file"):
        load_yaml(tmp_path / "none.yaml")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"not UTF-8"):
        load_yaml(binary)
