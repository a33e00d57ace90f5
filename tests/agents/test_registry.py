"""Agents that other packages register, beside the kit's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from plugin import Plugin

from agents.forms import SHIPPED
from agents.registry import AGENT_FORMS, AgentForm

MODULE = '''
    from pathrig.agent import Agent, AgentForm, StopAction, ToolCallAction

    class Repeat(Agent):
        """Calls one tool a number of times, then is done."""
        def __init__(self, rest):
            self.name, self._times = f"again:{rest}", int(rest)

        def start(self, context): self._left = self._times

        def act(self, observation):
            self._left -= 1
            if self._left < 0:
                return StopAction("done")
            return ToolCallAction("list_plants", {})

    REPEAT = AgentForm(("again:TIMES",), lambda rest, read_calls: Repeat(rest))
    '''


@pytest.fixture
def package(tmp_path: Path) -> Plugin:
    return Plugin(
        tmp_path,
        "pathrig-repeat",
        "pathrig.agents",
        {"again": "pathrig_repeat:REPEAT"},
        {"pathrig_repeat.py": MODULE},
    )


def test_the_kits_own_agents_are_registered() -> None:
    assert {id(form) for form in AGENT_FORMS.values()} >= {id(form) for form in SHIPPED}
    for name, form in AGENT_FORMS.items():
        assert all(text.partition(":")[0].partition("[")[0] == name for text in form.forms)


RUN = ("run", "--task", "water_one_plant", "--rig", "sim:farm_rover", "--json", "--agent")


def run(package: Plugin, agent: str) -> subprocess.CompletedProcess[str]:
    return package.main(AGENT_FORMS, *RUN, agent)


@pytest.mark.slow
def test_a_package_adds_an_agent(package: Plugin) -> None:
    done = package.pathrig(*RUN, "again:3")
    assert done.returncode == 0, done.stderr
    episode = json.loads(done.stdout)["episodes"][0]
    assert (episode["agent"], episode["steps"], episode["status"]) == ("again:3", 3, "completed")


@pytest.mark.parametrize(
    ("agent", "error"),
    [
        ("again", "unknown agent 'again'; the agents are command:PROGRAM ARGS, "),
        ("again:", "again:TIMES"),
        ("wizard", "replay:DB#EPISODE, scripted:FILE.jsonl, again:TIMES"),
    ],
)
def test_an_unknown_form_is_one_line_with_all_forms(package: Plugin, agent: str, error: str) -> None:
    done = run(package, agent)
    assert done.returncode == 2 and error in done.stderr and done.stderr.count("\n") == 1


def test_a_package_that_cannot_be_imported_is_named(package: Plugin) -> None:
    (package.folder / "pathrig_repeat.py").write_text("import no_such_module\n")
    assert run(package, "oracle").returncode == 0, "other agents are not affected"
    done = run(package, "again:3")
    assert done.returncode == 2 and "pathrig-repeat registers 'again' in pathrig.agents" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("forms", "bare", "rest"),
    [(("a",), True, False), (("a:X",), False, True), (("a[:X]",), True, True), (("a", "a:X"), True, True)],
)
def test_a_form_says_whether_it_takes_a_rest(forms: tuple[str, ...], bare: bool, rest: bool) -> None:
    form = AgentForm(forms, lambda rest, read_calls: None)  # type: ignore[arg-type,return-value]
    assert (form.takes(None), form.takes("x"), form.takes("")) == (bare, rest, False)


def test_the_forms_load_no_model_and_no_backend() -> None:
    heavy = ("agents.backends", "agents.baselines", "llama")
    code = f"import sys, agents.forms; print([m for m in sys.modules if m.startswith({heavy})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
