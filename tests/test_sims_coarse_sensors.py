import statistics

from devices.sensors import Sample, SensorSpec
from sims.coarse_sensors import CoarseSensor, SensorBank, keyed_noise


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
