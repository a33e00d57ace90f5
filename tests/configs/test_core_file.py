from pathlib import Path

import pytest

from configs.core_tasks import load_core_file
from configs.errors import ConfigError


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "cannot be read"), (b"nonsense", "no JSON"), (b"{}", "JSON array"), (b"\xff", "not UTF-8")],
)
def test_a_bad_file_is_one_line_that_names_it_once(tmp_path: Path, content: bytes | None, says: str) -> None:
    path = tmp_path / "tasks.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as caught:
        load_core_file(path)
    assert str(caught.value).count(str(path)) == 1
    assert "\n" not in str(caught.value)
