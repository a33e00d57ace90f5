import os
import signal
from pathlib import Path

import pytest

from core_eval.rig.signals import StopRequested, StopSignals
from core_eval.run.provenance import agent_info, host_info, package_versions


def test_a_signal_strikes_only_where_it_may() -> None:
    with StopSignals() as signals:
        done = []
        with pytest.raises(StopRequested) as raised, signals.interruptible():
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        assert raised.value.exit_status == 143
        done.append("cleaned up")
    assert done == ["cleaned up"]


def test_a_signal_that_comes_elsewhere_is_kept() -> None:
    with StopSignals() as signals:
        os.kill(os.getpid(), signal.SIGINT)
        reached = True
        for _ in range(2):
            with pytest.raises(StopRequested, match="SIGINT"), signals.interruptible():
                reached = False
    assert reached


def test_ctrl_backslash_beside_ctrl_c_is_no_sudden_death() -> None:
    with StopSignals() as signals, pytest.raises(StopRequested) as raised, signals.interruptible():
        os.kill(os.getpid(), signal.SIGQUIT)
        signal.pause()
    assert raised.value.exit_status == 131


def test_the_handlers_of_before_come_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with StopSignals():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_provenance_names_versions_and_the_models_file(tmp_path: Path) -> None:
    assert {"pathrig", "pydantic", "sqlite"} <= package_versions().keys()
    assert host_info()["cpus"] >= 1
    model = tmp_path / "m.gguf"
    model.write_bytes(b"abc")
    assert agent_info(f"llama:{model}") == {
        "file": "m.gguf",
        "bytes": 3,
        "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    }
    assert agent_info("oracle") == {}
