import logging
from collections.abc import Iterable

import msgspec
import pytest

from contextfold.tokens import Calibration, Drift, Watch, drift, learn


def taught(bills: Iterable[tuple[int, int]]) -> Calibration:
    calibration = Calibration("m")
    for raw, billed in bills:
        calibration = learn(calibration, raw, billed)
    return calibration


def test_without_bills_a_count_stays_as_counted() -> None:
    assert Calibration("m").is_neutral
    assert Calibration("m").apply(1234) == 1234
    assert Calibration("m").scaled(1234) == 1234


@pytest.mark.seed("F9")
@pytest.mark.parametrize(
    "raw",
    [
        [1000, 2000, 3000, 4000, 5000],
        [100, 150, 300, 320, 900],
        [20_000, 40_000, 60_000, 80_000, 100_000],
        [1000, 1000, 1000, 1000, 2000],
        [100_000, 120_000, 30_000, 50_000, 80_000],
    ],
)
def test_a_provider_that_bills_more_is_known_at_the_fifth_call(raw: list[int]) -> None:
    calibration = taught((each, round(each * 1.4)) for each in raw[:4])
    assert calibration.apply(raw[4]) == pytest.approx(1.4 * raw[4], rel=0.05)


def test_a_hidden_system_prompt_is_a_fixed_part_and_no_factor() -> None:
    calibration = taught((raw, 30_000 + raw) for raw in range(500, 20_000, 2000))
    assert calibration.factor == pytest.approx(1.0, abs=0.02)
    assert calibration.fixed == pytest.approx(30_000, rel=0.02)
    assert calibration.apply(100_000) == pytest.approx(130_000, rel=0.02)


def test_a_part_is_scaled_without_the_fixed_part() -> None:
    calibration = taught((raw, 30_000 + raw) for raw in range(500, 20_000, 2000))
    assert calibration.scaled(1000) == pytest.approx(1000, rel=0.02)


def test_a_changed_system_prompt_is_followed() -> None:
    calibration = taught((raw, 30_000 + raw) for raw in range(500, 20_000, 2000))
    for raw in range(20_000, 30_000, 1000):
        calibration = learn(calibration, raw, 45_000 + raw)
    assert calibration.apply(31_000) == pytest.approx(76_000, rel=0.03)


@pytest.mark.parametrize(("raw", "billed"), [(0, 100), (100, 0), (-1, 100), (100, -1)])
def test_a_bill_of_nothing_teaches_nothing(raw: int, billed: int) -> None:
    assert learn(Calibration("m"), raw, billed) == Calibration("m")


def test_an_absurd_bill_does_not_make_an_absurd_factor() -> None:
    assert 0.4 <= taught([(1000, 9_000_000), (2000, 1), (3000, 8_000_000)]).factor <= 3.0


def test_something_never_costs_nothing() -> None:
    calibration = taught([(10_000, 5000), (20_000, 6000), (30_000, 7000)])
    assert calibration.apply(1) >= 1
    assert calibration.apply(0) == 0


def test_the_same_bills_give_the_same_calibration_and_survive_being_written_down() -> None:
    bills = [(raw, raw * 3 // 2 + 77) for raw in range(100, 9000, 613)]
    assert taught(bills) == taught(bills)
    assert msgspec.json.decode(msgspec.json.encode(taught(bills)), type=Calibration) == taught(bills)


@pytest.mark.seed("F9")
def test_a_bill_within_a_fifth_is_no_drift() -> None:
    assert drift("m", 80, 100) is None
    assert drift("m", 120, 100) is None
    assert drift("m", 79, 100) == Drift("m", 79, 100)
    assert drift("m", 0, 100) is None


@pytest.mark.seed("F9")
def test_drift_is_logged_once_for_each_model_with_both_numbers(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch()
    with caplog.at_level(logging.WARNING, "contextfold.tokens"):
        watch, first = watch.seen("m", 10_000, 14_000)
        watch, again = watch.seen("m", 10_000, 15_000)
        watch, other = watch.seen("n", 10_000, 5000)
        watch, small = watch.seen("o", 10_000, 10_100)
    assert (first, again) == (Drift("m", 10_000, 14_000), None)
    assert other is not None
    assert small is None
    assert ["10,000" in record.message and "m: " in record.message for record in caplog.records] == [True, False]
    assert "14,000" in caplog.records[0].message
