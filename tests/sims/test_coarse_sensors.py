import gc
import itertools
import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tank_rig import level_at, tank, wait

from core_eval.text.streams import keyed_noise
from devices.harm import LEAVE_OUT
from devices.sensors import Sample, SensorSpec
from sims.clock import Clock
from sims.coarse_sensors import CoarseSensor, SensorBank


class Quantity:
    value = 0.0

    def __call__(self) -> float:
        return self.value


def bank(spec: SensorSpec, seed: int = 0, **sensor) -> tuple[SensorBank, Quantity, list[Sample]]:
    quantity, samples = Quantity(), []
    made = SensorBank([CoarseSensor("s", spec, quantity, **sensor)], seed, samples.append)
    made.begin(0)
    return made, quantity, samples


def test_a_threshold_sensor_holds_through_its_hysteresis():
    sensors, quantity, samples = bank(SensorSpec(kind="threshold", threshold=1.0, hysteresis=0.2))
    for tick, value in enumerate([0.9, 1.0, 0.85, 0.79, 0.95], start=1):
        quantity.value = value
        sensors.poll(tick)
    assert [(sample.value, sample.t) for sample in samples] == [(False, 0.0), (True, 0.002), (False, 0.004)]


def test_a_periodic_sensor_samples_on_the_minute_and_at_the_end():
    sensors, quantity, samples = bank(
        SensorSpec(kind="threshold", threshold=0.5, period=60.0), words=("dry", "wet")
    )
    assert sensors.next_due == 60_000
    quantity.value = 1.0
    sensors.poll(59_999)
    sensors.poll(60_000)
    assert sensors.next_due == 120_000
    quantity.value = 0.0
    sensors.end(90_500)
    assert [(sample.value, sample.t) for sample in samples] == [("dry", 0.0), ("wet", 60.0), ("dry", 90.5)]


def test_a_quantised_sensor_reports_steps_of_its_resolution():
    sensors, quantity, samples = bank(SensorSpec(kind="quantised", resolution=0.1))
    for tick, value in enumerate([0.04, 0.12, 0.26], start=1):
        quantity.value = value
        sensors.poll(tick)
    assert [sample.value for sample in samples] == [0.0, 0.1, 0.3]


def test_noise_depends_on_seed_sensor_and_index_alone():
    assert keyed_noise(1, "a", 5) == keyed_noise(1, "a", 5)
    assert (
        len({keyed_noise(1, "a", 5), keyed_noise(2, "a", 5), keyed_noise(1, "b", 5), keyed_noise(1, "a", 6)})
        == 4
    )
    numbers = [keyed_noise(3, "a", index) for index in range(4000)]
    assert abs(statistics.fmean(numbers)) < 0.05
    assert abs(statistics.stdev(numbers) - 1.0) < 0.05


def test_noise_reaches_the_readings():
    spec = SensorSpec(kind="quantised", period=1.0, noise=0.5)
    readings = []
    for seed in (0, 0, 1):
        sensors, _, samples = bank(spec, seed)
        sensors.poll(1000)
        readings.append([sample.value for sample in samples])
    assert readings[0] == readings[1] != readings[2]
    assert readings[0][0] == 0.5 * keyed_noise(0, "s", 0)


def said(samples: list[Sample]) -> list[tuple[str, object, float]]:
    return [(sample.sensor, sample.value, sample.t) for sample in samples]


SPECS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["threshold", "switch", "quantised", "continuous"]),
        "period": st.sampled_from([0.007, 0.25, 1.0, 3.5]),
        "hysteresis": st.sampled_from([0.0, 0.2]),
        "resolution": st.sampled_from([0.0, 0.1]),
        "noise": st.sampled_from([0.0, 0.05]),
        "delay": st.sampled_from([0.0, 0.003, 2.2]),
        "dropout": st.sampled_from([0.0, 0.4]),
    }
)
ON_CHANGE = SPECS.map(lambda spec: {**spec, "period": None, "kind": "quantised", "resolution": 0.1})


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(SPECS, ON_CHANGE), min_size=1, max_size=3), st.integers(1, 5000), st.integers(0, 5))
def test_readings_do_not_depend_on_how_time_is_cut(specs, cut_ticks, seed):
    sensors = {f"s{k}": spec for k, spec in enumerate(specs)}
    whole, heard = tank(sensors, seed=seed)
    cut, heard_cut = tank(
        sensors, {"random": [{"kind": "clogged_nozzle", "per_hour": 3000.0, "seconds": 0.5}]}, seed
    )
    cut.watch(Clock.to_seconds(cut_ticks), lambda t: None)
    for simulator in (whole, cut):
        for seconds in (3.3, 0.004, 4.1):
            wait(simulator, seconds, tick=0.3)
        simulator.finish()
    assert cut.steps >= whole.steps
    assert said(heard) == said(heard_cut)


@settings(max_examples=25, deadline=None)
@given(SPECS, st.integers(1, 3000), st.integers(0, 5))
def test_a_delay_shifts_every_sample_and_changes_none(spec, delay_ticks, seed):
    delay = Clock.to_seconds(delay_ticks)
    prompt, heard = tank({"s": {**spec, "delay": 0.0}}, seed=seed)
    late, heard_late = tank({"s": {**spec, "delay": delay}}, seed=seed)
    for simulator in (prompt, late):
        wait(simulator, 7.7, tick=0.3)
        simulator.finish()
    first, *rest = said(heard)
    shifted = [(name, value, Clock.to_seconds(Clock.to_ticks(t) + delay_ticks)) for name, value, t in rest]
    assert said(heard_late) == [first, *shifted]


def test_what_is_on_its_way_is_not_known_yet():
    simulator, heard = tank({"s": {"kind": "continuous", "period": 1.0, "delay": 2.5}})
    wait(simulator, 3.4)
    assert [sample.t for sample in heard] == [0.0]
    assert simulator.sensor_values["s"] == heard[0].value
    wait(simulator, 0.1)
    assert [(sample.t, sample.value) for sample in heard[1:]] == [(3.5, level_at(1000))]
    simulator.finish()
    # In flight were those of 2 s and 3 s; the last reading is waited for as well.
    assert [sample.t for sample in heard[2:]] == [4.5, 5.5, 6.0]
    assert heard[-1].value == level_at(3500)


def test_samples_of_several_delays_come_in_the_order_of_their_arrival():
    sensors = {f"s{k}": {"kind": "continuous", "period": 0.5, "delay": 0.4 * k} for k in range(4)}
    simulator, heard = tank(sensors)
    wait(simulator, 10.0, tick=3.0)
    wait(simulator, 2.5)
    simulator.finish()
    times = [sample.t for sample in heard]
    assert times == sorted(times)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.sampled_from([0.02, 0.1, 0.5, 0.9]), st.integers(0, 10**9))
def test_the_share_of_lost_samples_is_the_dropout(dropout, seed):
    simulator, heard = tank({"s": {"kind": "continuous", "period": 0.5, "dropout": dropout}}, seed=seed)
    wait(simulator, 2000.0)
    arrived, sent = len(heard) - 1, 4000
    # Within 4.5 standard deviations: missed by chance once in 100,000 seeds.
    assert abs(arrived - sent * (1 - dropout)) < 4.5 * math.sqrt(sent * dropout * (1 - dropout))


def test_the_first_and_the_last_reading_are_never_lost():
    sensors = {
        "s": {"kind": "continuous", "period": 1.0, "dropout": 1.0},
        "change": {"kind": "switch", "dropout": 1.0},
    }
    simulator, heard = tank(sensors)
    wait(simulator, 9.5, tick=0.5)
    simulator.finish()
    assert [(sample.sensor, sample.t) for sample in heard] == [
        ("s", 0.0), ("change", 0.0), ("s", 9.5), ("change", 9.5),
    ]  # fmt: skip
    assert heard[-1].value is True


def test_a_lost_change_stays_unknown_until_the_next_one():
    spec = {"kind": "switch", "threshold": 0.5}
    reference, all_heard = tank({"s": spec})
    wait(reference, 200.0, tick=0.25)
    lossy, heard = tank({"s": {**spec, "dropout": 0.5}})
    wait(lossy, 200.0, tick=0.25)
    assert set(said(heard)) < set(said(all_heard)), "those that arrive are those that would have"
    assert any(a.value == b.value for a, b in itertools.pairwise(heard)), "so a value may come twice"


def test_the_same_moments_lose_the_same_samples_whatever_else_is_sensed():
    """One more sensor, and other changes in between, as in a counterfactual."""
    spec = {"kind": "quantised", "resolution": 0.5, "dropout": 0.5, "noise": 0.01}
    one, heard = tank({"s": spec}, seed=3)
    other, heard_other = tank({"r": {**spec, "resolution": 0.1}, "s": spec}, seed=3)
    for simulator in (one, other):
        wait(simulator, 120.0, tick=0.5)
    assert said(heard) == [item for item in said(heard_other) if item[0] == "s"]


def test_a_call_that_is_left_out_is_looked_at_as_if_it_were_not():
    spec = {"kind": "quantised", "resolution": 0.1}
    done, heard = tank({"s": spec})
    left_out, heard_without = tank({"s": spec})
    assert wait(done, 12.3, tick=1.0).t == 12.3
    assert wait(left_out, 12.3, remedy=LEAVE_OUT, duration=12.3).t == 12.3
    assert said(heard) == said(heard_without)
    assert len(heard) > 5


def test_a_sensor_holds_at_its_limits_and_errs_by_bias_and_drift():
    spec = {"kind": "continuous", "period": 5.0, "low": 0.2, "high": 0.9}
    simulator, heard = tank({"s": spec})
    wait(simulator, 10.0)
    assert [sample.value for sample in heard] == pytest.approx([0.2, 0.5, 0.9])
    simulator, heard = tank({"s": {"kind": "continuous", "period": 10.0, "bias": 0.5, "drift": 36.0}})
    wait(simulator, 20.0)
    assert [sample.value for sample in heard] == pytest.approx([0.5, 1.6, 0.7])


def test_hysteresis_holds_against_noise():
    flips = []
    for hysteresis in (0.0, 0.3):
        spec = {
            "kind": "threshold",
            "threshold": 0.6,
            "period": 0.05,
            "noise": 0.03,
            "hysteresis": hysteresis,
        }
        simulator, heard = tank({"s": spec}, seed=1)
        wait(simulator, 19.9)
        flips.append(sum(a.value != b.value for a, b in itertools.pairwise(heard)))
    assert flips[0] > 2
    assert flips[1] == 2


def test_a_worsened_sensor_is_noisier_and_loses_more():
    spec = SensorSpec(kind="continuous", period=1.0, noise=0.2, dropout=0.5)
    assert spec.worsened() is spec
    worse = spec.worsened(2.0, 0.1)
    assert (worse.noise, worse.dropout) == (0.4, pytest.approx(0.55))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"kind": "continuous"}, "needs a period"),
        ({"period": 0.0001}, "at least 0.001"),
        ({"low": 1.0, "high": 1.0}, "low must be below high"),
        ({"dropout": 1.1}, "dropout"),
        ({"delay": -1.0}, "delay"),
        ({"noise": float("inf")}, "noise"),
    ],
)
def test_a_sensor_that_cannot_be_is_refused(spec, says):
    with pytest.raises(ValidationError, match=says):
        SensorSpec.model_validate(spec)


def test_a_snapshot_holds_what_is_on_its_way():
    sensors = {
        "late": {"kind": "continuous", "period": 0.7, "delay": 2.0, "dropout": 0.3, "noise": 0.1},
        "change": {"kind": "threshold", "threshold": 0.5, "hysteresis": 0.1, "delay": 1.3},
    }
    simulator, heard = tank(sensors, seed=5)
    wait(simulator, 6.2, tick=0.5)
    snapshot, before = simulator.snapshot(), len(heard)
    ends = []
    for _ in range(2):
        simulator.restore(snapshot)
        del heard[before:]
        wait(simulator, 9.3, tick=0.5)
        simulator._finished = False
        simulator.finish()
        ends.append(said(heard[before:]))
    assert ends[0] == ends[1]
    assert ends[0][0][2] < 8.2, "one was on its way"


def test_a_peak_is_read_and_begins_anew():
    peak = [0.0]
    sensor = CoarseSensor(
        "imu",
        SensorSpec(kind="continuous", period=1.0),
        lambda: peak[0],
        after=lambda: peak.__setitem__(0, 0.0),
    )
    heard: list[Sample] = []
    made = SensorBank([sensor], 0, heard.append)
    made.begin(0)
    for tick in (500, 1000, 1500, 2000):
        peak[0] = max(peak[0], tick / 1000)
        made.poll(tick)
        if tick == 1500:
            peak[0] = 9.0
    made.poll(3000)
    assert [sample.value for sample in heard] == [0.0, 1.0, 9.0, 0.0]


@pytest.mark.parametrize(("period", "fits"), [(0.001, True), (0.25, True), (60.0, True), (0.0015, False)])
def test_a_period_is_whole_milliseconds(period, fits):
    if fits:
        assert SensorSpec(period=period).period == period
    else:
        with pytest.raises(ValueError, match="whole milliseconds"):
            SensorSpec(period=period)


@settings(deadline=None, max_examples=60)
@given(
    moisture=st.floats(0.0, 0.4),
    dropout=st.sampled_from([0.0, 0.3]),
    first=st.integers(1, 5000),
    seed=st.integers(0, 9),
)
def test_a_rest_gives_the_samples_of_a_rig_that_is_read_at_each_due_moment(moisture, dropout, first, seed):
    def made(samples: list[Sample]) -> SensorBank:
        wet = SensorSpec(kind="threshold", period=60.0, threshold=0.22, hysteresis=0.03, noise=0.002)
        sensors = [
            CoarseSensor("soil", wet.worsened(1.0, dropout), lambda: moisture, ("dry", "wet")),
            CoarseSensor("near", SensorSpec(kind="switch", period=0.5), lambda: True),
            CoarseSensor(
                "noisy", SensorSpec(kind="quantised", period=7.0, resolution=0.1, noise=1.0), lambda: 1.0
            ),
            CoarseSensor("low", SensorSpec(), lambda: False),
        ]
        made = SensorBank(sensors, seed, samples.append)
        made.begin(0)
        made.poll(first)
        return made

    def run(sensors: SensorBank, end: int) -> None:
        tick = first
        while tick < end:
            tick = min(end, sensors.next_due)
            sensors.poll(tick)

    stepped, rested = [], []
    one, other = made(stepped), made(rested)
    end = first + 200_250
    run(one, end)
    other.rest(200.25)
    assert other.next_due > first + 500
    run(other, end)
    other.end_rest()
    for sensors in (one, other):
        sensors.end(end)
    assert rested == stepped and one.state == other.state


@pytest.mark.parametrize("delay", [0.0, 0.7])
def test_a_quantity_known_ahead_is_read_as_late_as_any(delay):
    def heard(**known):
        spec = SensorSpec(kind="continuous", period=2.0, delay=delay)
        made, quantity, samples = bank(spec, quick=lambda: True, **known)
        made.thin(4000, 2000, ahead=True)
        while (made.next_due or 9000) < 9000:
            quantity.value = Clock.to_seconds(made.next_due)
            made.poll(made.next_due)
        made.poll(9000)
        made.fill(9000)
        return samples

    assert heard(ahead=lambda t: t) == heard()
    assert [sample.t for sample in heard()] == [0.0, *(t + delay for t in (2.0, 4.0, 6.0, 8.0))]


def test_samples_of_an_episode_are_not_kept_after_it():
    def episode(seed):
        samples = []
        spec = SensorSpec(kind="switch", period=0.5)
        sensors = SensorBank([CoarseSensor("near", spec, lambda: True)], seed, samples.append)
        sensors.begin(0)
        sensors.rest(100.0)
        sensors.poll(100_000)
        assert len(samples) > 190

    def kept():
        gc.collect()
        return sum(isinstance(one, Sample) for one in gc.get_objects())

    episode(0)
    before = kept()
    for seed in range(20):
        episode(seed)
    assert kept() <= before
