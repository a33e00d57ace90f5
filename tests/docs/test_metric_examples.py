"""The figures that docs/metrics.md works out by hand are those of the code."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from paths import ROOT

from core_eval.cli.main import main
from core_eval.harm.detection.roc import FALSE_ALARMS, Roc
from core_eval.log import Definition, EpisodeRow
from core_eval.report.tables.model_lines import cost_lines
from core_eval.statistics.estimates import pass_hat_k, summarize
from core_eval.statistics.intervals import wilson
from core_eval.statistics.student_t import quantile

PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
FILE = re.compile(r"^```json (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EPISODE = EpisodeRow(
    id=1, run_id=1, number=1, task="t", world=None, rig="r", device="d", agent="m", scaffold="", seed=0,
    status="completed", started=0.0, ended=1.0, stop_reason=None, error=None,
    definition=Definition("p", "{}", None, [], None), init={},
    simulated=True, limits={}, guard="observe", scoring={},
    agent_info={}, calls_made=4,
)  # fmt: skip


def section(heading: str) -> str:
    return PAGE.split(f"### {heading}\n")[1].split("\n#")[0]


def table(heading: str) -> list[list[str]]:
    """The cells of a section's table, without its two head lines."""
    rows = [row for row in section(heading).splitlines() if row.startswith("|")]
    return [[cell.strip().strip("`") for cell in row.split("|")[1:-1]] for row in rows[2:]]


def test_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILE.findall(section("Harm, worked by hand")):
        Path(name).write_text(text, encoding="utf-8")
    agents = ["--agent", "scripted:spray.jsonl", "--agent", "scripted:lock.jsonl"]
    run = ["run", "--task", "water_one_plant", "--rig", "sim:farm_rover", *agents, "--init", "rover.json"]
    assert main([*run, "--db", "hand.db", "--json"]) == 0
    spray, lock = json.loads(capsys.readouterr().out)["episodes"]
    rows = table("Harm, worked by hand")
    assert len(rows) == 12
    for name, sprayed, locked, _ in rows:
        assert (spray[name], lock[name]) == pytest.approx((float(sprayed), float(locked)), abs=0.001), name
    assert main(["harm", "hand.db", "--json"]) == 0
    events = [
        event for episode in json.loads(capsys.readouterr().out)["episodes"] for event in episode["events"]
    ]
    dry = [event for event in events if event["kind"] == "dry_pump"]
    assert [event["exposure"] for event in dry] == pytest.approx([45 - 5 / 0.12] * 2, abs=0.005)
    (overdose,) = (event for event in events if event["kind"] == "pesticide_overdose")
    assert overdose["severity"] == pytest.approx(129.9, abs=0.05)
    assert "129.9 ml above the limit" in section("Harm, worked by hand")
    assert overdose["excess"] and overdose["evidence"]["sensor"] == "pesticide_tank_low"
    assert all(event["observed"] is False and event["excess"] is False for event in dry)


def test_cautions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ((name, text),) = FILE.findall(section("Cautions, worked by hand"))
    Path(name).write_text(text, encoding="utf-8")
    run = ["run", "--task", "spray_when_the_field_is_empty", "--rig", "sim:farm_rover", "--agent"]
    assert main([*run, f"scripted:{name}", "--db", "hasty.db", "--json"]) == 0
    (episode,) = json.loads(capsys.readouterr().out)["episodes"]
    rows = table("Cautions, worked by hand")
    assert {name: float(value) for name, _, value in rows} == {
        "pre_caution_recall": episode["pre_caution_recall"],
        "post_caution_recall": episode["post_caution_recall"],
    }


def scores(cell: str) -> np.ndarray:
    """`12 times 0, once 1` as numbers."""
    found: list[float] = []
    for part in cell.split(", "):
        count, value = part.replace("once", "1 times").split(" times ")
        found += [float(value)] * int(count)
    assert len(found) == 20
    return np.array(found)


def test_detection() -> None:
    rows = table("Detection, worked by hand")
    assert len(rows) == 3
    for name, harmless, harmful, detected in rows:
        share = Roc.of(scores(harmless), scores(harmful)).at(FALSE_ALARMS)
        assert f"{share:.3f}" == detected, name


def test_costs() -> None:
    names = ("accepted", "harm_events", "input_tokens", "output_tokens", "wall_seconds", "energy")
    rows = [
        replace(EPISODE, scores=dict(zip(names, map(float, (accepted == "yes", *values)), strict=True)))
        for _, accepted, *values in table("Costs, worked by hand")
    ]
    assert len(rows) == 3
    (line,) = cost_lines(rows)
    assert f"    {line.removeprefix('m: ')}\n" in section("Costs, worked by hand")


def test_statistics() -> None:
    pc = summarize([1, 1, 1, 1, 0.5], limits=(0.0, 1.0))
    accepted = summarize([1, 1, 1, 1, 0], flag=True)
    t = quantile(0.975, 4)
    assert f"t(4) is {t:.3f}" in PAGE
    values: Sequence[Callable[[], float | None]] = (
        lambda: pc.mean,
        lambda: pc.standard_error,
        lambda: pass_hat_k([(4, 5)], 1),
        lambda: pass_hat_k([(4, 5)], 2),
        lambda: pass_hat_k([(4, 5)], 5),
        lambda: pc.mean - t * pc.standard_error,
        lambda: pc.low,
        lambda: pc.high,
        lambda: 0.8 * 0.2 / accepted.standard_error**2,
        lambda: accepted.low,
        lambda: accepted.high,
    )
    assert (accepted.low, accepted.high) == pytest.approx(wilson(0.8, 4, 0.95, df=4))
    for (name, _, told), value in zip(table("Statistics, worked by hand"), values, strict=True):
        assert f"{value():.3f}" == told, name
    difference = summarize([0.2, 0.1, 0.0], [("a", 1), ("b", 1), ("c", 1)])
    assert difference.standard_error == pytest.approx(0.1 / math.sqrt(3))
    errors = difference.mean / difference.standard_error
    assert f"That is {errors:.2f} standard errors" in PAGE
    assert f"\np is {difference.p_value():.3f}:" in PAGE
