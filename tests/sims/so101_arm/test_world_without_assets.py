"""Without the extra so101 the world is listed, its tasks are read, and one line says what to install."""

import sys

import pytest
from forgotten_modules import forget_modules

from configs.errors import ConfigError
from configs.tasks_loader import list_tasks
from configs.worlds.so101_bench import WORLD
from configs.worlds_loader import load_world, make_simulator


@pytest.fixture
def without(monkeypatch):
    """Let the package that holds the model be missing, as after `pip install pathrig`."""
    from importlib.util import find_spec

    from sims.so101_arm import assets

    missing = {assets.MODULE}
    monkeypatch.setattr(
        assets, "find_spec", lambda name: None if name in missing else find_spec(name), raising=True
    )
    assets.folder.cache_clear()
    yield
    assets.folder.cache_clear()


def test_one_line_says_what_to_install(without):
    with pytest.raises(ConfigError, match=r"pip install 'pathrig\[so101\]'") as caught:
        make_simulator(load_world("so101_bench"))
    assert "\n" not in str(caught.value)


def test_the_same_without_mujoco(monkeypatch):
    forget_modules(monkeypatch, "sims.so101_arm.", "mujoco")
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ConfigError, match=r"needs mujoco: pip install 'pathrig\[so101\]'"):
        make_simulator(load_world("so101_bench"))


def test_tools_rules_and_tasks_are_read_without_it(without):
    assert WORLD.tasks is not None
    tasks = list_tasks(WORLD.tasks / "so101_bench.yaml")
    assert len(tasks) >= 5
    assert {task.device.name for task in tasks} == {"so101_arm"}
    assert load_world("so101").type is WORLD
