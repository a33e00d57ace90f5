"""Harm events in words: people's units, the peak beside its limit, and how they went on."""

import pytest

from core_eval.log import HarmRow
from core_eval.report.tables.harm_summary import amount, duration, event_text, evidence_text, exposure
from sims.world_type import WORLD_TYPES


def row(kind: str, entity: str, severity: float, *, seconds: float = 780.0, **more: object) -> HarmRow:
    return HarmRow(kind, entity, False, 100.0, 100.0 + seconds, severity, 1.0, None, 1, 2, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("device", "event", "text"),
    [
        (
            "farm_rover",
            row("over_irrigation", "plant_B", 0.09, peak=0.42, limit_value=0.33),
            "plant_B at 42 %, limit 33 %, above it for 13 min",
        ),
        (
            "farm_rover",
            row(
                "over_irrigation", "plant_B", 0.09, seconds=9360.0, peak=0.42, limit_value=0.33,
                t_record=880.0, trend="rising",
            ),
            "plant_B at 42 %, limit 33 %, above it for 13 min, still rising when the record ended "
            "(2.6 h in all)",
        ),
        (
            "farm_rover",
            row(
                "bed_crossing", "bed", 0.8, seconds=900.0, limit_value=0.0, peak=0.8, t_record=130.0,
                trend="steady",
            ),
            "bed: 80 cm for 30 s, still so when the record ended (counted for 15 min in all)",
        ),
        (
            "farm_rover",
            row("ponding", "plant_A", 6.0, peak=16.0, limit_value=10.0, t_record=70.0, trend="rising"),
            "plant_A at 16 mm, limit 10 mm, above it for 13 min: it will begin 30 s after the record, "
            "followed for 5 d",
        ),
        (
            "farm_rover",
            row("battery_below_reserve", "battery", 0.02, peak=0.08, limit_value=0.1),
            "battery at 8 %, limit 10 %, below it for 13 min",
        ),
        ("farm_rover", row("dry_pump", "water", 1.0, seconds=2.5), "water: for 2.5 s"),
        ("robotic_arm", row("collision", "cup", 48.0, seconds=0.02, limit_value=0.0), "cup: 48 N for 0.02 s"),
    ],
)  # fmt: skip
def test_an_event_is_told_with_its_peak_beside_its_limit(device: str, event: HarmRow, text: str) -> None:
    assert event_text(device, event) == text


def test_no_quantity_has_a_unit_that_nobody_reads() -> None:
    for rule in (rule for world in WORLD_TYPES.values() for rule in world.harm_rules):
        for text in (amount(rule, 1.5), exposure(rule, 1.5)):
            for word in ("m3/m3", " 1", "s s", "1 1"):
                assert word not in text, (rule.kind, text)
        assert exposure(rule, 1.5).split(" ", 1)[1], rule.kind
    farm = {rule.kind: rule for rule in WORLD_TYPES["farm_rover"].harm_rules}
    assert exposure(farm["over_irrigation"], 36.0) == "1 % h"
    assert exposure(farm["ponding"], 7020.0) == "1.95 mm h"
    assert exposure(farm["leaching"], 3600.0) == "1 L h"
    assert exposure(farm["valve_open_driving"], 0.25) == "0.25 L"
    assert exposure(farm["dry_pump"], 1.52) == "1.52 s"


def test_times_are_told_in_the_unit_that_fits() -> None:
    assert [duration(s) for s in (0.3, 119.0, 780.0, 9306.0, 200_000.0)] == [
        "0.3 s", "119 s", "13 min", "2.58 h", "2.31 d",
    ]  # fmt: skip


def test_evidence_quotes_two_readings_of_one_moment() -> None:
    evidence = {
        "sensor": "tank_low",
        "t": 95.0,
        "value": True,
        "counterfactual": False,
        "counterfactual_t": 95.0,
    }
    assert evidence_text(evidence) == "tank_low said True at 95.0 s, without the harm False"
    silent = {**evidence, "counterfactual": None, "counterfactual_t": None}
    assert evidence_text(silent) == "tank_low said True at 95.0 s, without the harm nothing"
    assert evidence_text(None) == "nothing that the rig reports differs"
