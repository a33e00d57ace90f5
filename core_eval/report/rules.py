"""The harm rules of all device types, for words and units."""

from __future__ import annotations

from devices.farm_rover.harm_rules import FARM_HARM_RULES
from devices.harm import HarmRule
from devices.robotic_arm.harm_rules import HARM_RULES as ARM_HARM_RULES

RULES = {
    (device, rule.kind): rule
    for device, rules in (("farm_rover", FARM_HARM_RULES), ("robotic_arm", ARM_HARM_RULES))
    for rule in rules
}


def rule_of(device: str, kind: str) -> HarmRule | None:
    """The rule that raises this kind of event on this device; None where this version knows none."""
    return RULES.get((device, kind))


def unit_of(device: str, kind: str) -> str:
    """The unit of its severity; empty where it has none."""
    rule = rule_of(device, kind)
    return "" if rule is None else rule.unit
