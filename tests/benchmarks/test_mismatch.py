"""The mismatch benchmark: its other soil law, its figures, and that it goes on where it stopped."""

import json
import subprocess
import sys

import pytest
from paths import ROOT

from benchmarks.mismatch_farm import MISMATCHES, wrong_start
from benchmarks.mismatch_figures import Told, by_choice, by_rule, figures, identifiable, told_choices
from benchmarks.philip import PhilipFront
from configs.worlds_loader import load_world
from sims.farm_rover.green_ampt import WettingFront


def test_philips_law_is_consistent_and_another_than_green_and_ampts():
    front = PhilipFront(0.002, 1.5, 0.7)
    for t in (1.0, 400.0, 4000.0):
        gained = front.gained(t)
        assert front.time(gained) == pytest.approx(t, rel=1e-6)
        slope = (front.gained(t + 0.1) - front.gained(t - 0.1)) / 0.2
        assert front.rate(gained) == pytest.approx(slope, rel=1e-3)
        steps = [front.gained(t * (n + 0.5) / 2000) for n in range(2000)]
        assert front.gained_time(gained) == pytest.approx(sum(steps) * t / 2000, rel=1e-4)
        assert gained != pytest.approx(WettingFront(0.002, 1.5, 0.7).gained(t), rel=0.01)
    assert front.rate(front.gained_at(0.01)) == pytest.approx(0.01)


def test_figures_of_a_known_set():
    told = [(True, 1.0), (True, 0.6), (True, 0.0), (False, 0.95), (False, 0.1)]
    records = [Told("shipped", 0, "k", "e", n, happened, chance) for n, (happened, chance) in enumerate(told)]
    found = figures(records)
    assert (found.true, found.recall.hits, found.recall.of, found.precision.of) == (3, 2, 3, 3)
    assert (found.sure.hits, found.sure.of) == (1, 2)
    assert found.brier == pytest.approx((0.16 + 1.0 + 0.9025 + 0.01) / 5)
    assert by_rule(records) == {"k": (3, pytest.approx(2.65), 2, 1)}
    reference = [Told("reference", 0, "k", "e", n, n < 3, chance) for n, chance in enumerate((0.9, 0.2, 0.7))]
    able = identifiable(records, reference)
    assert (able.hits, able.of) == (1, 2), "the one at 0.2 is not to be found by anybody"
    assert identifiable(records, ()).of == 0
    assert found.expected_recall == pytest.approx(2.55 / 2.65)
    hits = {least: (parts[0].hits, parts[1].of) for least, parts in by_choice(records).items()}
    assert hits == {0.5: (2, 3), 0.4: (2, 3), 0.3: (2, 3), 0.2: (2, 3)}
    bands = {(one.low, one.high): (one.coverage, one.risk) for one in told_choices(records)}
    assert bands[0.5, 0.5] == (1.0, pytest.approx(2 / 5))
    assert bands[0.3, 0.7] == (pytest.approx(4 / 5), pytest.approx(2 / 4))


def test_a_wrong_start_is_off_by_at_most_its_share_and_stays_possible():
    from random import Random

    world = load_world("farm_rover")
    true = wrong_start({}, world, 0.2, Random(1))
    plants = true["plants"].items()
    moistures = [plant["moisture"] / world.state.plants[name].moisture for name, plant in plants]
    assert all(0.8 <= share <= 1.2 for share in moistures) and len(set(moistures)) > 1
    assert true["battery"] <= 1.0 and true["water_tank"]["liters"] <= 5.0
    low = {"battery": 0.4}
    assert MISMATCHES[0].name == "matched" and wrong_start(low, world, 0.0, Random(1)) == low


@pytest.mark.slow
def test_it_reports_what_its_file_holds_without_running_it_again(tmp_path):
    out = tmp_path / "results.jsonl"
    rig = {"key": "rig/farm_rover/1/0/", "hidden": {}, "estimates": {}}
    record = {"twin": "shipped", "episode": 0, "kind": "k", "entity": "e", "place": 0}
    records = [{**record, "happened": True, "probability": 0.8}]
    done = {"key": "farm_rover/1/16/0/0/0/6/shipped", "mismatch": 0, "episodes": 6, "seconds": 1.0}
    done |= {"bad_fits": {"shipped": 0}, "records": records}
    out.write_text("".join(json.dumps(one) + "\n" for one in (rig, done)))
    command = [sys.executable, "benchmarks/mismatch.py", "--out", str(out), "--episodes", "6", "--only", "0"]
    command += ["--rigs", "1", "--processes", "1"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert "events without hopper_overfill" in " ".join(found.stdout.split())
    assert "matched" in found.stdout and "1.00 (0.21-1.00)" in found.stdout
    assert len(out.read_text().splitlines()) == 2
