"""Rows: measured cells, comparisons and break-evens of hand-made values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narthex.validation.definition import BreakEven, Comparison, Experiment, Interface, Workload
from narthex.validation.published import Key, Published
from narthex.validation.rows import derived, keys, measured
from narthex.validation.sampling import Sample

SIZES = (8, 64, 256)
EVERY = [f"{size} bytes" for size in SIZES]
SLOW, QUICK, BUS = ("NI2w", "memory-bus"), ("CNI4", "memory-bus"), ("CNI4", "io-bus")


def experiment(unit, **more):
    return Experiment(
        name="own/mine", title="", source="", program="", machine="", report="", unit=unit,
        interfaces=[Interface("NI2w"), Interface("CNI4"), Interface("CNI4 on io-bus")],
        workload=[Workload(name, [], size) for name, size in zip(EVERY, SIZES, strict=True)],
        published="own/mine", limit_percent=15, **more,
    )  # fmt: skip


def values(**by_interface):
    names = {"slow": "NI2w", "quick": "CNI4", "bus": "CNI4 on io-bus"}
    return {
        (names[key], workload): value
        for key, column in by_interface.items()
        for workload, value in zip(EVERY, column, strict=True)
    }


def compared(unit, measured_values, published=None, **comparison):
    pair = {"interface": "CNI4", "baseline": "NI2w", "workload": "8 to 256 bytes", **comparison}
    made = Comparison(**{"workloads": EVERY, **pair})
    return list(derived(experiment(unit, comparison=[made]), measured_values, published or {}))


def crossing(unit, slow, quick, interface="CNI4", baseline="NI2w"):
    pair = BreakEven(interface, baseline)
    made = experiment(unit, break_even=[pair])
    (row,) = derived(made, values(slow=slow, quick=quick), {})
    return row.value


def test_a_cell_is_the_mean_over_seeds_and_varies_as_the_program_tells_or_over_the_seeds():
    samples = {(name, each): [Sample(1.0, 0.25)] for name in ("NI2w", "CNI4") for each in EVERY}
    samples |= {("CNI4 on io-bus", each): [Sample(2.0, None), Sample(3.0, None)] for each in EVERY}
    printed = {Key(BUS, None, "64 bytes", "us"): Published(2.0, 2.0, "Table 1")}
    rows = {
        (row.interface, row.workload): row for row in measured(experiment("us"), samples, printed)
    }
    told, untold = rows["CNI4", "8 bytes"], rows["CNI4 on io-bus", "64 bytes"]
    assert (told.spread, told.published_low, told.error_percent) == (0.25, None, None)
    assert (untold.value, untold.spread, untold.error_percent) == (2.5, 1.0, 25.0)
    assert (untold.attach, untold.within_limit) == ("io-bus", False)
    assert told.within_limit is None


def test_a_speed_up_of_times_is_the_baselines_over_the_interfaces():
    slow_and_quick = values(slow=(3.0, 6.0, 12.0), quick=(2.0, 3.0, 10.0))
    least, most = compared("us", slow_and_quick, take=["smallest", "largest"])
    assert (least.value, most.value) == (pytest.approx(20.0), pytest.approx(100.0))
    assert (least.unit, least.take, most.take) == ("percent", "smallest", "largest")


def test_a_speed_up_of_rates_is_the_interfaces_over_the_baselines():
    (row,) = compared("MB/s", values(slow=(10, 10, 10), quick=(15, 20, 25)))
    assert row.value == pytest.approx(100.0)


def test_an_increase_is_the_interfaces_value_over_the_baselines():
    (row,) = compared("us", values(slow=(10, 10, 10), quick=(13, 14, 15)), relation="increase")
    assert row.value == pytest.approx(40.0)


def test_the_best_of_several_is_chosen_at_each_workload():
    measured_values = values(slow=(4, 4, 4), quick=(2, 4, 4), bus=(4, 4, 1))
    least, most = compared(
        "us", measured_values, interface="best CNI", best_of=["CNI4", "CNI4 on io-bus"],
        take=["smallest", "largest"],
    )  # fmt: skip
    assert (least.value, most.value) == (0.0, 300.0)


def test_each_end_of_a_published_range_is_beside_its_own_row_and_errors_are_those_of_ratios():
    printed = {Key(QUICK, SLOW, "8 to 256 bytes", "percent"): Published(20.0, 84.0, "")}
    slow_and_quick = values(slow=(3.0, 6.0, 12.0), quick=(2.0, 3.0, 10.0))
    least, most = compared("us", slow_and_quick, printed, take=["smallest", "largest"])
    assert (least.published_low, least.published_high) == (20.0, 20.0)
    assert least.error_percent == pytest.approx(0.0, abs=1e-9)
    assert (most.published_low, most.published_high) == (84.0, 84.0)
    assert most.error_percent == pytest.approx(100 * (2.0 / 1.84 - 1))
    assert (least.within_limit, most.within_limit) == (True, True)


def test_a_break_even_is_where_the_two_curves_cross():
    # From 8 to 64 bytes the lead goes from -3 to +4: zero after 3/7 of 56 bytes.
    assert crossing("us", slow=(2, 8, 20), quick=(5, 4, 4)) == pytest.approx(8 + 24)


def test_a_break_even_of_rates_looks_for_the_larger_one():
    assert crossing("MB/s", slow=(4, 4, 4), quick=(2, 6, 9)) == pytest.approx(36)


def test_of_two_crossings_the_last_counts():
    assert crossing("us", slow=(2, 1, 3), quick=(1, 2, 2)) == pytest.approx(64 + 96)


@pytest.mark.parametrize("quick", [(1, 1, 1), (3, 3, 3), (1, 1, 3)])
def test_curves_that_do_not_cross_have_no_break_even(quick):
    assert crossing("us", slow=(2, 2, 2), quick=quick) is None


def test_a_published_break_even_that_is_not_found_is_outside_its_limit():
    made = experiment("us", break_even=[BreakEven("CNI4", "NI2w")])
    printed = {Key(QUICK, SLOW, "break-even payload", "bytes"): Published(96, 96, "")}
    (row,) = derived(made, values(slow=(2, 2, 2), quick=(1, 1, 1)), printed)
    assert (row.value, row.error_percent, row.within_limit) == (None, None, False)


def test_the_keys_of_an_experiment_are_those_of_its_rows():
    made = experiment(
        "us",
        comparison=[Comparison("best CNI", "NI2w", "64 bytes", best_of=["CNI4"])],
        break_even=[BreakEven("CNI4 on io-bus", "NI2w")],
    )
    assert len(keys(made)) == 3 * 3 + 2
    assert Key(("best CNI", "memory-bus"), SLOW, "64 bytes", "percent") in keys(made)
    assert Key(BUS, SLOW, "break-even payload", "bytes") in keys(made)


lead = st.floats(0.1, 1e3)


@given(lead, lead, lead, lead)
def test_a_break_even_lies_between_the_sizes_around_it(first, second, third, fourth):
    found = crossing("us", slow=(first, first + second, 1e4), quick=(first + third, first, fourth))
    assert found is not None
    assert 8 <= found <= 64
