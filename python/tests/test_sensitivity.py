"""What an experiment hangs on: which values are tried, what they move, and how it is shown."""

import re
from dataclasses import replace

import pytest

import narthex
from narthex import NarthexError, layouts, validation
from narthex.batch import Batch
from narthex.cli import main
from narthex.report import experiments as pages
from narthex.report.parts import Chart, Table
from narthex.validation import variations, wording
from narthex.validation.loading import only
from narthex.validation.outcome import Claim
from narthex.validation.sensitivity import MovedRow, Varied, hanging, sweeps
from narthex.validation.variations import assumed, swept

FILE = """
title = "Round trips"
source = "Table 1"
program = "roundtrip"
machine = "hpca98"
report = "round-trip latency"
unit = "us"
interfaces = ["NI2w", "CNI32Qm"]

[[workload]]
name = "8 bytes"
args = ["8", "10", "5"]

[[workload]]
name = "64 bytes"
args = ["64", "10", "5"]

[[claim]]
text = "queues win"
source = "Section 1"
holds = "'CNI32Qm' < 'NI2w'"

[[claim]]
text = "words are slow"
source = "Section 2"
holds = "'NI2w' > 2.5"
workloads = ["8 bytes"]

[[sweep]]
key = "interfaces.ni_iw.deposit_time"
values = ["60ns", "1us"]
interfaces = ["NI2w"]
workloads = ["8 bytes"]
reason = "it is not stated"
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    file = tmp_path_factory.mktemp("own") / "mine.toml"
    file.write_text(FILE)
    return file


@pytest.fixture(scope="module")
def outcome(file):
    keys = ["interfaces.ni_iw", "interfaces.cni_iqm.message_ready", "machine.seed"]
    return narthex.experiment(str(file), sensitivity=True, parameters=keys)


def values_of(found, key):
    return [each.value for each in found if each.key == key]


def test_an_assumed_number_is_halved_and_doubled_and_others_have_their_alternatives(file):
    tried, untried = assumed(validation.load(str(file)), [])
    assert values_of(tried, "interfaces.ni_iw.deposit_time") == ["30ns", "120ns"]
    assert values_of(tried, "processor.store_cycles") == ["1", "4"]
    assert values_of(tried, "bus.extra_cycles.read") == ["1"]
    assert values_of(tried, "interfaces.cni_iqm.message_ready") == ["cachable-store"]
    assert values_of(tried, "flow_control.retry_delay") == ["40ns", "160ns", "1us", "4us"]
    assert not values_of(tried, "main_memory.access_time"), "it is stated"
    reasons = {(each.key, each.value): each.reason for each in untried}
    assert "allowed are 1 to 1000" in reasons["processor.float_add_cycles", "0"]
    assert "no other value" in reasons["machine.seed", "1"]
    assert "changes nothing" in reasons["interfaces.cni_iq.engine_time", "20ns"]


def test_what_a_user_sets_is_no_assumption_and_a_wrong_parameter_is_named(file):
    experiment = validation.load(str(file))
    tried, _ = assumed(experiment, ["processor.store_cycles=3"], ["processor"])
    assert values_of(tried, "processor.load_use_cycles") == ["1", "4"]
    assert not values_of(tried, "processor.store_cycles")
    with pytest.raises(NarthexError, match=r"did you mean 'flow_control\.retry_delay'") as refused:
        assumed(experiment, [], ["flow_control.retry_dely"])
    assert "'narthex machine show hpca98 --sources' lists all" in str(refused.value)
    assert str(refused.value).count("flow_control.") <= 4, "not all sixty keys"


def test_only_the_runs_that_a_parameter_concerns_are_made_with_it(file, monkeypatch):
    made = []

    def run(self, wanted, program):
        made.append((wanted["interface"], wanted["args"][0], tuple(wanted["set"])))
        raise NarthexError("not now")

    monkeypatch.setattr(Batch, "run", run)
    narthex.experiment(str(file), sensitivity=True, parameters="interfaces.cni_iqm.message_ready")
    plain = {(name, size, ()) for name in ("NI2w", "CNI32Qm") for size in ("8", "64")}
    ready = "interfaces.cni_iqm.message_ready=cachable-store"
    changed = {("CNI32Qm", size, (ready,)) for size in ("8", "64")}
    sweep = {("NI2w", "8", ("interfaces.ni_iw.deposit_time=1us",))}
    assert sorted(made) == sorted(plain | changed | sweep)


def test_a_sweep_of_the_file_leaves_out_the_machines_own_value(file):
    (variation,) = swept(validation.load(str(file)), [])
    assert (variation.base, variation.value, variation.is_assumed) == ("60ns", "1us", False)
    assert [claim.text for claim in variation.experiment.claim] == ["words are slow"]


def test_a_sweep_of_what_the_machine_does_not_state_is_refused_with_its_key(file, tmp_path):
    changed = tmp_path / "changed.toml"
    changed.write_text(file.read_text().replace("ni_iw.deposit_time", "ni_iw.deposit"))
    with pytest.raises(NarthexError, match=r"'interfaces\.ni_iw\.deposit': hpca98 does not"):
        swept(validation.load(str(changed)), [])


def test_what_moves_and_what_turns_is_told(outcome):
    by_setting = {(each.key, each.value, each.is_assumed): each for each in outcome.varied}
    slower = by_setting["interfaces.ni_iw.deposit_time", "120ns", True]
    assert slower.interfaces == ["NI2w"]
    assert {moved.row for moved in slower.rows} == {"NI2w, 8 bytes", "NI2w, 64 bytes"}
    assert all(moved.change > 1 and moved.change_unit == "%" for moved in slower.rows)
    assert slower.turned == ["words are slow"]
    queue, slow = outcome.claims
    assert (queue.holds, queue.hangs_on) == (True, [])
    assert not slow.holds
    assert "interfaces.ni_iw.deposit_time from 120ns on" in slow.hangs_on
    assert [each.key for each in outcome.untried] == ["machine.seed"]


def test_a_sweep_shows_its_rows_at_each_value_and_the_machines_own(outcome):
    (swept,) = sweeps(outcome.varied)
    assert swept.values == ["60ns", "1us"]
    ((row, (before, after)),) = swept.rows.items()
    assert row == "NI2w, 8 bytes, us"
    assert after > before + 1


def varied(value, turned, base="80ns"):
    return Varied("own/mine", "retry", base, value, True, ["NI2w"], [], turned, [])


@pytest.mark.parametrize(
    ("turning", "told"),
    [
        (["1us", "4us"], "retry from 1us on"),
        (["4us"], "retry = 4us"),
        (["40ns", "4us"], "retry = 40ns, 4us"),
    ],
)
def test_a_claim_says_from_which_value_on_it_holds(turning, told):
    claim = Claim("own/mine", "two are better", "", False, ["8 bytes"])
    tried = [
        varied(each, ["two are better"] * (each in turning)) for each in ("40ns", "1us", "4us")
    ]
    (hanging_claim,) = hanging([claim], tried)
    assert hanging_claim.hangs_on == [told]
    assert wording.hangs_on(hanging_claim) == f"holds with {told}"
    assert hanging([replace(claim, text="another")], tried)[0].hangs_on == []


def test_a_value_in_percent_moves_by_points():
    moved = MovedRow("CNI4 against NI2w, 8 bytes", "percent", 20.0, 30.0, True)
    assert (moved.change, moved.change_unit) == (10.0, "points")
    assert MovedRow("NI2w, 8 bytes", "us", 2.0, 3.0, True).change == pytest.approx(50)


def test_a_part_of_an_experiment_keeps_what_needs_no_other_workload(file):
    experiment = validation.load(str(file))
    part = only(experiment, [], ["64 Bytes"])
    assert [claim.text for claim in part.claim] == ["queues win"]
    assert part.claim[0].workloads == ["64 bytes"]
    assert part.sweep == []
    bandwidth = only(validation.load("isca96/bandwidth"), [], ["64 bytes"])
    assert {each.workload for each in bandwidth.comparison} == {"64 bytes"}
    with pytest.raises(NarthexError, match="did you mean '64 bytes'"):
        only(experiment, [], ["64 byte"])


def test_the_page_has_a_tornado_and_names_what_was_not_tried(outcome):
    layouts.check(outcome.document, "experiments")
    (section,) = pages.sections(outcome.document)
    titles = [part.title for part in section.parts if isinstance(part, Chart)]
    assert "What moves Round trips: parameters at other values" in titles
    captions = [part.caption for part in section.parts if isinstance(part, Table)]
    assert "Assumed values that were not tried" in captions


def test_the_command_prints_what_moves_and_refuses_parameters_without_sensitivity(file, capsys):
    ready = ["--sensitivity", "--parameter", "interfaces.cni_iqm.message_ready"]
    assert code(["experiment", str(file), *ready, "--workload", "64 bytes"]) == 0
    printed = capsys.readouterr().out
    assert "What moves with other values of the machine's parameters" in printed
    assert re.search(
        r"interfaces.*message_ready uncached-store +cachable-store: -\d", printed, re.S
    )
    assert code(["experiment", str(file), "--parameter", "bus"]) == 2
    assert "give both" in capsys.readouterr().err


def code(arguments):
    """Return what a command exits with."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code


def test_values_are_put_in_order_by_what_they_mean():
    order = sorted(["4us", "80ns", "1us", "0.5us"], key=variations.size)
    assert order == ["80ns", "0.5us", "1us", "4us"]
    assert variations.size("uncached-store") is None
