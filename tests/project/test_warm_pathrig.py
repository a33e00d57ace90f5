"""A command by `warm_pathrig` is a process that does as one of its own: many tests rest on that."""

import signal
import subprocess
from pathlib import Path

import pytest
from warm_pathrig import warm_pathrig

SIMULATOR = ["sim", "farm_rover", "--serial", "pty"]


def test_it_has_the_streams_the_folder_and_the_status_of_its_client(tmp_path: Path) -> None:
    def ran(*words: str) -> tuple[int, str, str]:
        command = [*warm_pathrig(), *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert ran("none") == (2, "", "pathrig: No such command 'none'; see `pathrig --help`\n")
    assert ran("worlds", "new", "mine")[0] == 0
    assert (tmp_path / "mine" / "pyproject.toml").exists()
    (tmp_path / "own.py").write_text("import sys\nprint(__name__, sys.argv)\nsys.exit(7)\n")
    assert ran("own.py", "word") == (7, "__main__ ['own.py', 'word']\n", "")
    (tmp_path / "own.py").write_text("missing\n")
    status, _, error = ran("own.py")
    assert status == 1 and error.endswith("NameError: name 'missing' is not defined\n")


@pytest.mark.serial
def test_a_signal_to_its_client_is_its_own() -> None:
    with subprocess.Popen([*warm_pathrig(), *SIMULATOR], stdout=subprocess.PIPE) as client:
        assert client.stdout is not None and client.stdout.readline()
        client.send_signal(signal.SIGTERM)
        assert client.wait(60) == 0


@pytest.mark.serial
def test_it_is_killed_with_its_client() -> None:
    with subprocess.Popen([*warm_pathrig(), *SIMULATOR], stdout=subprocess.PIPE) as client:
        assert client.stdout is not None and client.stdout.readline()
        client.kill()
        # It holds the other end until it is gone.
        client.stdout.read()
        assert client.wait(60) == -signal.SIGKILL
