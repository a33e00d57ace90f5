"""The table of metrics: type in JSON, heading in a table, and which direction is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from core_eval.statistics.intervals import Limits

from devices.harm import CHARGED

ABOVE_IDLE = "energy_above_idle"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Attributes:
        name: as in the log and in JSON.
        heading: in tables.
        kind: `share` from 0 to 1, `count`, `flag`, `amount`, or `bytes`.
        less_is_better: whether lower is better; a threshold is then a maximum.
        short: heading in a line of several metrics; empty: `heading`.
        signed: whether it may be below 0.
    """

    name: str
    heading: str
    kind: Literal["share", "count", "flag", "amount", "bytes"] = "share"
    less_is_better: bool = False
    short: str = ""
    signed: bool = False

    @property
    def limits(self) -> Limits:
        """The least and the greatest possible value."""
        if self.kind in ("share", "flag"):
            return 0.0, 1.0
        return None if self.signed else 0.0, None

    @property
    def difference_limits(self) -> Limits:
        """The least and the greatest possible difference of two values."""
        return (-1.0, 1.0) if self.limits[1] == 1.0 else (None, None)


METRICS = (
    Metric("path_correctness", "PC"),
    Metric("pc_ktc", "PC-KTC"),
    Metric("prefix_criticality", "PrefixCrit"),
    Metric("harmful_calls", "harmful calls", "count", less_is_better=True, short="harmful"),
    Metric("off_path", "off path", "count", less_is_better=True),
    Metric("refused_writes", "refused", "count", less_is_better=True),
    Metric("invalid_calls", "invalid", "count", less_is_better=True),
    Metric("harmful_call_rate", "harm rate", less_is_better=True),
    Metric("efficiency", "efficiency"),
    Metric("path_correctness_hlr", "PC+HLR"),
    Metric("accepted", "accepted", "flag"),
    Metric("over_refusal", "over-refusal", "flag", less_is_better=True),
    Metric("exact", "exact", "flag"),
    Metric("calls", "calls", "count", less_is_better=True),
    Metric("condensed", "condensed", "count", less_is_better=True),
    Metric("loops", "loops", "count", less_is_better=True),
    Metric("faults", "faults", "count", less_is_better=True),
    Metric("disturbed", "disturbed", "flag", less_is_better=True),
    Metric("steps", "steps", "count", less_is_better=True),
    Metric("twin_steps", "steps by the twin", "count", less_is_better=True),
    Metric("harm_events", "harm events", "count", less_is_better=True),
    Metric("harm_cost", "harm cost", "amount", less_is_better=True),
    Metric(CHARGED, "excess cost", "amount", less_is_better=True),
    Metric("excess_harm", "excess harm", "count", less_is_better=True),
    Metric("unavoidable_harm", "unavoidable harm", "count", less_is_better=True),
    Metric("forecasts", "forecasts", "count", less_is_better=True),
    Metric("forecast_cost", "forecast cost", "amount", less_is_better=True),
    Metric("unobserved_harm", "unobserved harm", "count", less_is_better=True),
    Metric("unobserved_cost", "unobserved cost", "amount", less_is_better=True),
    Metric("unobserved_share", "unobserved share", less_is_better=True),
    Metric("unknown_harm", "unknown harm", "count", less_is_better=True),
    Metric("twin_fit", "fit of the twin (p)"),
    Metric("twin_effective", "effective members", "amount"),
    Metric("twin_log_likelihood", "log-likelihood", "amount", signed=True),
    Metric("twin_expected_log_likelihood", "expected log-likelihood", "amount", signed=True),
    Metric("deviations", "deviations", "count", less_is_better=True),
    Metric("hidden_deviations", "hidden dev", "count", less_is_better=True),
    Metric("final_state_ok", "final state ok", "flag"),
    Metric("harm_behind_ok_state", "harm behind an ok state", "flag", less_is_better=True),
    Metric("goal_met", "goal met", "flag"),
    Metric("response_ok", "response ok", "flag"),
    Metric("pre_caution_recall", "pre-caution recall"),
    Metric("post_caution_recall", "post-caution recall"),
    Metric("compensating_pairs", "compensating pairs", "count", less_is_better=True),
    Metric("stranded_seconds", "stranded s", "amount", less_is_better=True),
    Metric("reward", "reward", "amount", signed=True),
    Metric("input_tokens", "input tokens", "count", less_is_better=True),
    Metric("cached_tokens", "cached tokens", "count", less_is_better=True),
    Metric("output_tokens", "output tokens", "count", less_is_better=True),
    Metric("agent_seconds", "agent s", "amount", less_is_better=True),
    Metric("wall_seconds", "wall s", "amount", less_is_better=True),
    Metric("device_seconds", "device s", "amount", less_is_better=True),
    Metric("peak_memory", "peak memory", "bytes", less_is_better=True),
    Metric("energy", "energy (J)", "amount", less_is_better=True),
    Metric(ABOVE_IDLE, "above idle (J)", "amount", less_is_better=True, signed=True),
)
BY_NAME = {metric.name: metric for metric in METRICS}
TABLE = (
    "path_correctness",
    "pc_ktc",
    "prefix_criticality",
    "off_path",
    "refused_writes",
    "invalid_calls",
    "harmful_call_rate",
    "efficiency",
    "harm_events",
    CHARGED,
    "unobserved_share",
    "hidden_deviations",
    "final_state_ok",
)
"""The metrics of the table per agent, in order."""
RANKED = (
    "path_correctness",
    "pc_ktc",
    "prefix_criticality",
    "harmful_calls",
    "harmful_call_rate",
    "efficiency",
    CHARGED,
    "deviations",
    "final_state_ok",
)
"""The metrics by which two agents differ: harm that is not charged is the world's, its sight the rig's."""
RUNNING = (
    "path_correctness",
    "pc_ktc",
    "path_correctness_hlr",
    "prefix_criticality",
    "harmful_calls",
    "harmful_call_rate",
    "efficiency",
)
"""The metrics that are known while an episode runs."""
RANKING = ("path_correctness", "harmful_calls", CHARGED)
"""The metrics of one line that compares agents."""
BRIEF = (*RANKING, "unobserved_share")
"""The metrics of one line of an episode that ended."""
LESS_IS_BETTER = frozenset(metric.name for metric in METRICS if metric.less_is_better)


def json_value(name: str, value: float | None) -> float | int | bool | None:
    """Return a logged value with the type that its metric has in JSON."""
    metric = BY_NAME.get(name)
    if value is None or metric is None:
        return value
    if metric.kind == "flag":
        return bool(value)
    return int(value) if metric.kind in ("count", "bytes") else value
