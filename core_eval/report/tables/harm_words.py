"""Describes harm events in words: peak and limit in everyday units, duration, and evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core_eval.log import HarmRow
from devices.harm import HarmRule, Shown
from sims.world_type import rule_of

MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86400.0


def event_text(device: str, event: HarmRow) -> str:
    """Describe an event, such as `plant_B at 42 %, limit 33 %, above it for 13 min`."""
    rule = rule_of(device, event.kind)
    words = event.entity
    if event.peak is not None and event.limit_value:
        side = "below" if rule is not None and rule.falls_below else "above"
        words += f" at {amount(rule, event.peak)}, limit {amount(rule, event.limit_value)}, {side} it for "
    else:
        severity = amount(rule, event.severity)
        words += f": {severity} for " if severity else ": for "
    return words + _how_long(rule, event)


def _how_long(rule: HarmRule | None, event: HarmRow) -> str:
    lasted = duration(event.t_end - event.t_start)
    if event.t_record is None:
        return lasted
    if event.t_start >= event.t_record:
        return f"{lasted}, from {duration(event.t_start - event.t_record)} after the record's end on"
    seen = duration(event.t_record - event.t_start)
    going = {"rising": "still rising", "falling": "falling"}.get(event.trend or "", "still so")
    counted = rule is not None and event.t_end - event.t_start >= rule.follow_s - 1.0
    return f"{seen}, {going} when the record ended ({'counted for ' if counted else ''}{lasted} in all)"


def amount(rule: HarmRule | None, value: float) -> str:
    """Return a quantity of a rule as people read it; empty where it has no unit to be read in."""
    if rule is None:
        return f"{value:.3g}"
    shown = rule.shown or Shown(rule.unit)
    return f"{value * shown.factor:.3g} {shown.unit}" if shown.unit else ""


def exposure(rule: HarmRule | None, value: float) -> str:
    """Return an exposure of a rule as people read it."""
    if rule is None:
        return f"{value:.3g}"
    shown = rule.exposed or Shown(f"{rule.unit} s".strip())
    return f"{value * shown.factor:.3g} {shown.unit}"


def duration(seconds: float) -> str:
    """Format a time for people: `0.3 s`, `13 min`, `2.6 h`, `1 d`."""
    if seconds < 2.0 * MINUTE_S:
        return f"{seconds:.3g} s"
    if seconds < 2.0 * HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    if seconds < 2.0 * DAY_S:
        return f"{seconds / HOUR_S:.3g} h"
    return f"{seconds / DAY_S:.3g} d"


def evidence_text(evidence: Mapping[str, Any] | None, *, without: str = "the harm") -> str:
    """Return what gave an event away: what was read, and what would have been read at the same moment."""
    if not evidence:
        return "nothing that the rig reports differs"
    moments = [t for t in (evidence["t"], evidence["counterfactual_t"]) if t is not None]
    value = "nothing" if evidence["t"] is None else evidence["value"]
    other = "nothing" if evidence["counterfactual_t"] is None else evidence["counterfactual"]
    at = f" at {moments[0]:.1f} s" if moments else ""
    return f"{evidence['sensor']} said {value}{at}, without {without} {other}"
