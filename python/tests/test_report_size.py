"""Pages of large runs stay short: nodes that are alike are one bar, sizes are counted in bins."""

from collections import Counter

import pytest

import narthex
from narthex import groups
from narthex.report import runs


def of_time(**parts):
    return Counter(parts)


def test_a_few_nodes_have_a_bar_each():
    times = {(node, 0): of_time(send=1) for node in range(groups.MOST_BARS)}
    assert [group.name for group in groups.alike(times)] == [f"node {n}" for n in range(12)]


def test_nodes_that_spend_their_time_alike_are_one_bar():
    times = {(node, 0): of_time(send=50 + node % 2, poll=50) for node in range(255)}
    times[255, 0] = of_time(poll=100)
    first, *_, last = made = groups.alike(times)
    assert len(made) <= groups.MOST_BARS
    assert first.name.startswith(("nodes 0-254", "nodes 0, 2, 4"))
    assert last.name == "node 255"
    assert sum(len(group.places) for group in made) == 256


def test_the_bar_of_a_group_is_the_mean_of_its_nodes():
    times = {(node, 0): of_time(send=1000 + node) for node in range(20)}
    (group,) = groups.alike(times)
    assert group.mean("send") == 1009.5


def test_nodes_that_all_differ_still_fit_on_a_screen():
    times = {(node, 0): of_time(send=node, poll=99 - node) for node in range(100)}
    assert len(groups.alike(times)) <= groups.MOST_BARS


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([3], "3"),
        ([0, 1, 2, 5], "0-2, 5"),
        (list(range(0, 60, 2)), "0, 2, 4, 6, 8, 10, 12, ..."),
    ],
)
def test_nodes_are_listed_in_ranges(numbers, text):
    assert groups.listed(numbers) == text


def test_hundreds_of_sizes_are_counted_between_powers_of_two():
    sizes = [{"bytes": size, "messages": 1} for size in range(12, 412)]
    made = groups.binned(sizes)
    assert [each["bytes"] for each in made] == [
        "8 to 15", "16 to 31", "32 to 63", "64 to 127", "128 to 255", "256 to 511",
    ]  # fmt: skip
    assert sum(each["messages"] for each in made) == 400
    assert groups.binned(sizes[:2])[0] == {"bytes": "12", "messages": 1}


def test_only_the_longest_regions_have_charts():
    document = narthex.run("roundtrip", 8, 2, 1, nodes=2).document
    (region, *_) = [each for each in document["regions"] if each["end_ps"]]
    document["regions"] = [
        {**region, "name": f"r{count}", "ledger_ps": {"send / execute": count + 1}}
        for count in range(9)
    ]
    sections = {each.title: each for each in runs.section(document).sections}
    assert [name for name in sections if name.startswith("Region")] == [
        "Region r8", "Region r7", "Region r6",
    ]  # fmt: skip
    (table,) = sections["Further regions"].parts
    assert [row[0] for row in table.rows] == ["r5", "r4", "r3", "r2", "r1", "r0"]
