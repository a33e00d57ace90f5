"""Unpack the chat templates and vocabularies of the pinned llama-cpp-python's source into a folder.

`python packaging/llama_templates.py build/llama_cpp_templates`. Tests read them. pip's cache has the source
package already where llama.cpp was compiled from it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
PINNED = re.compile(r"^llama_cpp_python==(\S+)$", re.MULTILINE)
WANTED = re.compile(r"vendor/llama\.cpp/models/(templates/[^/]+\.jinja|ggml-vocab-[^/]+\.gguf)$")


def main() -> None:
    """Unpack them, where the folder does not hold those of the pinned version yet."""
    folder = Path(sys.argv[1])
    found = PINNED.search((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit("constraints.txt: no line llama_cpp_python==VERSION")
    version, stamp = found[1], folder / "VERSION"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == version:
        return
    print(f"==> unpacking the chat templates of llama-cpp-python {version} into {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        command = ["download", "--quiet", "--no-deps", "--no-binary", "llama-cpp-python"]
        subprocess.run(
            [sys.executable, "-m", "pip", *command, "-d", temporary, f"llama-cpp-python=={version}"],
            check=True,
        )
        (source,) = Path(temporary).glob("*.tar.gz")
        with tarfile.open(source) as archive:
            for member in archive:
                if not (WANTED.search(member.name) and member.isfile()):
                    continue
                data = archive.extractfile(member)
                assert data is not None
                (folder / PurePosixPath(member.name).name).write_bytes(data.read())
    stamp.write_text(version, encoding="utf-8")


if __name__ == "__main__":
    main()
