"""The model checker of interfaces, over the real models and the compiled driver."""

import json
from pathlib import Path

import pytest

from narthex import _native
from narthex.cli import main
from narthex.comparison import interface_names, interfaces_of
from narthex.programs import find

LOST = "no message is lost or overtaken by a later one of its queue"
WHOLE = "no message is read before it is whole, or damaged"
TWICE = "no message is sent or received twice"
NO_FAULT = "the driver does nothing that the interface or the machine refuses"
NO_TRAP = "no deadlock and no livelock: whatever has happened, the end can still be reached"
BRIDGED_CHIP = str(Path(__file__).parents[2] / "machine/tests/guests/bridged-chip.toml")


def check(interface, *, evictions=0, without=None, limit=1_000_000, settings=(), machine="hpca98"):
    request = {
        "interface": interface,
        "machine": machine,
        "set": list(settings),
        "evictions": evictions,
        "without": without,
        "limit": limit,
    }
    elf = find("interface").elf(interface=request["interface"])
    return json.loads(_native.check_interface(json.dumps(request), elf))


NOT_TRIED = ("Verbs", "Virtio")
QUEUES = [name for name in interfaces_of("hpca98")[0] if name not in NOT_TRIED]
"""Interfaces of two halves, which compiled drivers use; test_edt.py and test_verbs.py have those of
the other kind. Virtio has too many states for a test."""


@pytest.mark.parametrize("interface", QUEUES)
def test_every_interface_holds_in_all_interleavings(interface):
    report = check(interface)
    assert report["counter_example"] is None, report["text"]
    assert report["complete"]
    assert {LOST, WHOLE, TWICE, NO_TRAP} <= set(report["proven"])
    assert [part["states"] > 300 for part in report["explorations"]] == [True] * 3


def test_a_queue_holds_when_the_cache_loses_any_block_at_any_moment():
    """CNI16Q's is on the page about checking, with its states."""
    report = check("CNI0Qm", evictions=1)
    assert report["proven"], report["text"]
    assert report["states"] > 150_000


@pytest.mark.parametrize(
    "setting",
    [
        "interfaces.cni_iqm.when_full=write-back",
        "interfaces.cni_iqm.message_ready=cachable-store",
        "store_buffer.uncached_stores=posted",
        "data_cache.protocol=MESI",
        "data_cache.snarfing=true",
    ],
)
def test_cached_queues_hold_however_the_machine_is_set(setting):
    assert check("CNI32Qm", settings=[setting])["proven"]


@pytest.mark.parametrize("interface", ["CNI4", "CNI32Qm+Throttle"])
def test_an_interface_that_is_a_home_or_has_a_cache_holds_on_a_directory(interface):
    report = check(interface, machine="chip")
    assert report["proven"], report["text"]


@pytest.mark.parametrize(
    ("interface", "rule", "violated"),
    [
        ("CNI16Q", "sense-reverse", NO_TRAP),
        ("CNI32Qm", "sense-reverse", NO_TRAP),
        ("CNI16Q", "header-last", WHOLE),
        ("CNI32Qm", "header-last", WHOLE),
        ("CNI16Q", "invalidation", NO_TRAP),
        ("CNI32Qm", "dead-messages", WHOLE),
        ("CNI32Qm", "empty-entries", WHOLE),
        ("CxlNic", "read-again", NO_TRAP),
        ("CxlNic2", "read-back", WHOLE),
        ("RegisterFile", "room", NO_FAULT),
    ],
)
def test_an_interface_without_one_of_its_rules_is_caught(interface, rule, violated):
    report = check(interface, evictions=1, without=rule)
    example = report["counter_example"]
    assert example["violated"] == violated, report["text"]
    assert report["proven"] == []
    assert all(example["steps"])


def test_virtqueues_hold_in_the_first_states():
    report = check("Virtio", limit=30_000)
    assert report["counter_example"] is None, report["text"]


def test_a_virtqueue_whose_buffer_is_written_last_is_caught():
    report = check("Virtio", without="buffer-first")
    assert report["counter_example"]["violated"] == WHOLE, report["text"]


def test_a_held_load_that_is_answered_too_early_is_caught():
    report = check("PioCoherent", machine="chip", without="copies-first")
    assert report["counter_example"]["violated"] == TWICE, report["text"]


def test_a_counter_example_is_a_story_of_numbered_steps():
    text = check("CNI32Qm", evictions=1, without="header-last")["text"]
    assert "CNI32Qm without header-last FAILS" in text
    assert "  1. the processor loads from receive queue, entry 0, block 0, and waits" in text
    assert "that are not message" in text


def test_a_space_beyond_the_limit_is_never_called_proven():
    report = check("CNI16Q", limit=500)
    assert not report["complete"]
    assert report["proven"] == []
    assert "UNDECIDED" in report["text"]


def test_a_rule_that_an_interface_has_not_cannot_be_left_out():
    with pytest.raises(Exception, match="it follows sense-reverse, header-last, invalidation"):
        check("CNI16Q", without="dead-messages")


def test_of_all_interfaces_those_that_the_machine_cannot_have_are_named_and_left_out(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["check", "interface", "all", "-m", "isca96", "--states", "20", "--json", "-"])
    out, err = capsys.readouterr()
    assert ended.value.code == 1  # with so few states nothing is decided
    document = json.loads(out)
    names = {report["interface"] for report in document["checks"]}
    assert names | {*document["left_out"]} == {*interface_names()}
    assert {"NI16w+Blkbuf", "CCDMA-retry", "PIO"} <= {*document["left_out"]}
    assert "CCDMA-intervention, CCDMA-retry, DMA-flush, PIO, PIO+WriteCombining are left out" in err
    assert "NI16w+Blkbuf is left out: isca96: the processor has no block buffers" in err


def test_a_rule_that_no_interface_has_is_no_check_of_all(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["check", "interface", "all", "--without", "nothing"])
    assert ended.value.code == 2
    assert "does not follow the rule 'nothing'" in capsys.readouterr().err


def test_a_machine_that_is_wrong_with_any_interface_is_refused_before_all_checks(
    monkeypatch, capsys
):
    monkeypatch.setattr(_native, "check_interface", lambda *_: pytest.fail("a check begins"))
    for wrong, told in [
        (["-m", "no-such"], 'unknown machine "no-such"'),
        (["--set", "bus.clok=1"], "bus.clok"),
    ]:
        with pytest.raises(SystemExit) as ended:
            main(["check", "interface", "all", *wrong])
        assert ended.value.code == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("machine", "interface", "states"),
    [
        ("hpca98", "NI2w on register", 4_000),
        ("isca96", "NI2w on cache-bus", 5_000),
        ("isca96", "NI2w on io-bus", 10_000),
        ("isca96", "CNI0Qm on io-bus", 90_000),
        (BRIDGED_CHIP, "NI2w on io-bus", 10_000),
    ],
)
def test_an_interface_holds_wherever_it_is_attached(machine, interface, states):
    report = check(interface, machine=machine)
    assert report["proven"], report["text"]
    assert report["states"] > states


@pytest.mark.parametrize(("machine", "on"), [("isca96", "memory bus"), (BRIDGED_CHIP, "directory")])
def test_behind_a_bridge_an_interface_without_one_of_its_rules_is_caught(machine, on):
    report = check("CNI0Qm on io-bus", machine=machine, without="header-last")
    assert report["counter_example"]["violated"] == WHOLE, report["text"]
    assert f"the {on} is granted to the bridge; write_block receive queue" in report["text"]


def test_a_place_that_the_machine_lacks_is_refused():
    with pytest.raises(Exception, match=r"no \[io_bus\], which 'NI2w on io-bus' needs"):
        check("NI2w on io-bus")
    with pytest.raises(
        Exception, match=r"node.interconnects.pcie.kind: the checker explores no links"
    ):
        check("NI2w", machine=str(Path(BRIDGED_CHIP).parent / "pcie.toml"))
    with pytest.raises(Exception, match="chip: bus is missing, and 'EDT' snoops one"):
        check("EDT", machine="chip")


def test_a_bus_with_refusals_has_no_livelock_unless_an_owner_never_pushes():
    report = json.loads(_native.check_refusals())
    assert report["proven"], report["text"]
    broken = json.loads(_native.check_refusals("push"))
    assert "refuses" in broken["counter_example"]["steps"][-1]
    with pytest.raises(Exception, match="push and answer are"):
        _native.check_refusals("pull")


def test_a_directory_without_a_withdrawal_has_an_old_copy_and_unknown_changes_are_refused():
    change = "requests Sharers Upgrade: - withdraws"
    broken = json.loads(_native.check_directory("msi", 100_000, change))
    assert broken["counter_example"]["violated"].startswith("a block has one writer")
    assert f"MSI with '{change}' FAILS" in broken["text"]
    with pytest.raises(Exception, match="did you mean 'requests Sharers Read: - gives_shared'"):
        _native.check_directory("msi", 1, "requests Sharers Read: - gives_share")
    with pytest.raises(Exception, match="there are MESI, MOESI, MSI; did you mean MOESI"):
        _native.check_directory("moesy", 1)
    with pytest.raises(
        Exception, match="Incoherent keeps no caches coherent, so there is nothing to prove"
    ):
        _native.check_directory("incoherent", 1)
    with pytest.raises(Exception, match="MESI-OneRead has no table of a directory; there are MESI"):
        _native.check_directory("mesi-oneread", 1)


def test_an_interface_holds_where_owners_refuse_and_push():
    refusing = ["bus.dirty_owner=retry-and-push", "bus.retry_cycles=3"]
    report = check("CNI0Qm", settings=refusing)
    assert report["proven"], report["text"]


def test_the_bridge_is_fair_and_a_device_starves_without_that():
    fair = json.loads(_native.check_bridge())
    assert fair["proven"], fair["text"]
    assert fair["states"] > 4_000
    assert fair["complete"]
    unfair = json.loads(_native.check_bridge("fairness"))
    refused = "a device's transaction that was refused is not refused again"
    assert unfair["counter_example"]["violated"] == refused
