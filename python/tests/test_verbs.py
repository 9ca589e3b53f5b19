"""Queue pairs, end to end: the library of verbs, the interface, and its errors."""

import json
from pathlib import Path

import polars as pl
import pytest

import narthex
from narthex.errors import NarthexError
from narthex.programs import find

STREAMS = (("write", "bandwidth"), ("read", "read-bandwidth"))
LENGTHS = (0, 1, 31, 32, 33, 63, 64, 65, 256, 257, 500)
PCIE = Path(__file__).parents[2] / "machine/tests/guests/pcie.toml"
WITH_EVENTS = {
    "machine": PCIE,
    "set": {
        "operating_system.system_call_time": "100ns",
        "operating_system.interrupt_time": "2us",
        "operating_system.page_time": "0ns",
        "operating_system.page_frames": "contiguous",
        "operating_system.pinned_pages": "1024",
        "interfaces.verbs.notify": "interrupt",
    },
}
BOTH = """
#include <infiniband/verbs.h>
#include "narthex.h"
int main(void) {
    struct ibv_context *context = ibv_open_device(ibv_get_device_list(NULL)[0]);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *queue = ibv_create_cq(context, 4, NULL, channel, 0);
    struct ibv_ah_attr attr = {.dlid = 0, .port_num = 1};
    struct ibv_ah *address = ibv_create_ah(ibv_alloc_pd(context), &attr);
    narthex_check(queue && address && ibv_req_notify_cq(queue, 0) == 0, "one of both is missing");
    return 0;
}
"""


def run(program, *arguments, **chosen):
    said = []
    asked = {"machine": "hpca98", "interface": "Verbs", "nodes": 1} | chosen
    result = narthex.run(program, *arguments, **asked, output=lambda *told: said.append(told[-1]))
    return result, b"".join(said).decode().splitlines()


@pytest.mark.parametrize("interface", ["Verbs", "Verbs on io-bus"])
def test_messages_of_any_length_arrive_at_any_byte(interface):
    machine = "isca96" if "io-bus" in interface else "hpca98"
    where = {"machine": machine, "interface": interface}
    said = run("verbs", "send", **where)[1]
    expected = {f"receive: success, {bytes_} bytes" for bytes_ in LENGTHS}
    assert set(said) == {*expected, "request: success", "closed"}
    assert len(said) == 2 * len(LENGTHS) + 1
    assert run("verbs", "write", **where)[1] == ["request: success"] * len(LENGTHS)
    assert run("verbs", "read", **where)[1] == ["request: success"] * len(LENGTHS)
    assert run("verbs", "atomics", **where)[1] == ["request: success"] * 4 + ["100 105 7 7 -1"]
    assert run("verbs", "in-order", **where)[1] == ["request: success"] * 12
    said = run("verbs", "immediate", **where)[1]
    assert {line for line in said if line.startswith("receive")} == {
        f"{each}, immediate" for each in expected
    }


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("local-key", ["request: local protection error"]),
        ("local-length", ["request: local protection error"]),
        ("domain", ["request: local protection error"]),
        ("remote-key", ["request: remote access error"]),
        ("remote-length", ["request: remote access error"]),
        ("long-read", ["request: remote access error"]),
        ("no-right", ["request: remote access error"]),
        ("no-right-to-read", ["request: remote access error"]),
        ("no-right-to-write", ["request: local protection error"]),
        ("no-reads", ["request: local QP operation error"]),
        ("word-in-two-halves", ["request: remote invalid request error"]),
        ("refused-behind-a-read", ["request: remote access error", "request: success"]),
        ("no-receive", ["request: RNR retry counter exceeded"]),
        ("no-peer", ["request: transport retry counter exceeded"]),
        (
            "short-receive",
            [
                "receive: Work Request Flushed Error",
                "receive: local length error",
                "request: Work Request Flushed Error",
                "request: remote invalid request error",
            ],
        ),
        ("late-receive", ["receive: success, 64 bytes", "request: success"]),
        (
            "calls",
            [
                "completion queue: Resource busy",
                "domain: Resource busy",
                "inline: Invalid argument",
                "queue pair: Invalid argument",
                "region: Bad address",
                "segments: Invalid argument",
                "state: Invalid argument",
            ],
        ),
    ],
)
def test_what_goes_wrong_is_told_as_hardware_tells_it(case, told):
    assert sorted(run("verbs", case)[1]) == told


def test_a_key_of_another_process_is_none():
    assert run("verbs", "key-of-another-process", nodes=2)[1] == ["request: remote access error"]


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("no-receive", [*["receive: success, 104 bytes"] * 3, *["request: success"] * 6]),
        ("other-key", ["receive: success, 104 bytes", *["request: success"] * 2]),
        ("no-queue-pair", ["receive: success, 104 bytes", *["request: success"] * 2]),
        ("no-process", ["receive: success, 104 bytes", *["request: success"] * 2]),
        ("too-long", ["request: Work Request Flushed Error", "request: local length error"]),
        ("short-receive", ["receive: local length error", "request: success"]),
        ("write", ["request: local QP operation error"]),
        (
            "calls",
            [
                "global address: Invalid argument",
                "inline: Invalid argument",
                "no address: Invalid argument",
            ],
        ),
    ],
)
def test_datagrams_that_go_astray_are_lost_and_wrong_ones_are_told(case, told):
    result, said = run("datagrams", case, set={"interfaces.verbs.mtu": "256B"})
    assert sorted(said) == told
    astray = case in ("other-key", "no-queue-pair", "no-process")
    counted = {"verbs_datagrams_lost": 3 if case == "no-receive" else 0}
    counted |= {"verbs_packets_dropped": int(astray), "verbs_acknowledgements_sent": 0}
    totals = dict(result.statistics.group_by("name").agg(pl.col("value").sum()).iter_rows())
    assert {name: totals[name] for name in counted} == counted


@pytest.mark.parametrize("interface", ["Verbs", "Verbs on io-bus"])
def test_datagrams_arrive_behind_40_bytes_of_room_and_name_their_sender(interface):
    machine = "isca96" if "io-bus" in interface else "hpca98"
    small = {"machine": machine, "interface": interface, "set": {"interfaces.verbs.mtu": "256B"}}
    said = run("datagrams", "lengths", **small)[1]
    lengths = (0, 1, 32, 33, 64, 188, 255, 256)
    assert said[::2] == ["request: success"] * len(lengths)
    told = [f"receive: success, {40 + each} bytes" for each in lengths]
    assert said[1::2] == [each + ", immediate" * (at % 2) for at, each in enumerate(told)]


def test_one_queue_pair_sends_datagrams_to_many_processes():
    result, _ = run("verbs-datagrams", 64, 30, 6, nodes=4)
    assert result.value("datagram latency") > 0
    # The others have one packet each of three, and nobody acknowledges any.
    packets = result.statistics.filter(pl.col("name") == "verbs_packets_received")["value"]
    assert packets.sum() >= 2 * 36
    with pytest.raises(NarthexError, match="a datagram has at most 256 bytes here, not 300"):
        run("verbs-datagrams", 300, nodes=2, set={"interfaces.verbs.mtu": "256B"})


def test_datagrams_are_linked_into_programs_that_have_them_alone():
    def has_addresses(program):
        return b"\0ibv_create_ah\0" in find(program).elf(interface="Verbs")

    assert has_addresses("verbs-datagrams")
    assert not has_addresses("verbs-latency")


def test_a_completion_queue_that_overflows_ends_the_run():
    with pytest.raises(NarthexError, match="completion queue 3 overflows: 8 completions"):
        run("verbs", "overflow")


def test_perftest_measures_latency_and_bandwidth():
    def value(what, *arguments, **chosen):
        return run("verbs-latency", *arguments, nodes=2, **chosen)[0].value(what)

    gathered = value("send latency", "send", 64, 20, 5, 0)
    assert value("send latency", "send", 64, 20, 5) != gathered
    assert value("write latency", "write", 64, 20, 5) < gathered
    assert value("write latency", "write", 64, 20, 5, 0) < gathered
    assert value("send latency", "send", 5000, 5, 2) > 5 * gathered
    written, read = (value(f"{what} bandwidth", named, 4096, 32, 16) for what, named in STREAMS)
    assert read == pytest.approx(written, rel=0.2)
    # A read goes there and back.
    assert value("read latency", "read", 64, 20, 5) > value("write latency", "write", 64, 20, 5)
    assert value("atomic latency", "atomic", 8, 20, 5) > value("read latency", "read", 8, 20, 5)


def test_no_addition_is_lost_and_none_is_made_twice_whatever_is_asked_for_again():
    run("verbs-fetch", 6, 1500, nodes=4)
    # Answers come later than they are waited for.
    result, _ = run("verbs-fetch", 6, 1500, 1, nodes=4, set={"network.latency": "5us"})
    counted = result.statistics.filter(pl.col("name") == "verbs_packets_repeated")["value"]
    assert counted.sum() > 50


def test_events_tell_of_completions_once_and_calls_refuse_what_manuals_say():
    result, _ = run("completion-channels", **WITH_EVENTS)
    totals = dict(result.statistics.group_by("name").agg(pl.col("value").sum()).iter_rows())
    assert totals["verbs_events"] == 8 * 7 + 1
    with pytest.raises(NarthexError, match=r"ibv_create_comp_channel: .*[Nn]ot supported"):
        run("completion-channels", machine=PCIE)


def test_channels_and_datagrams_go_into_one_program_and_neither_into_others(tmp_path):
    source = tmp_path / "both.c"
    source.write_text(BOTH)
    run(source, **WITH_EVENTS)
    for program, has_channels in (("verbs-events", True), ("verbs-latency", False)):
        found = b"\0ibv_req_notify_cq\0" in find(program).elf(interface="Verbs")
        assert found == has_channels


def test_a_read_that_is_waited_for_takes_six_ways_over_links_four_engines_and_an_interrupt():
    def latency(**settings):
        chosen = {"machine": PCIE, "interface": "Verbs", "nodes": 2}
        named = {key.replace("__", "."): value for key, value in settings.items()}
        result = narthex.run(
            "verbs-events", "read", 64, 20, 10, **chosen, set=WITH_EVENTS["set"] | named
        )
        return result.value("read latency")

    at_once = latency()
    # The doorbell; the read of the request, there and back; that of the other host's memory; and
    # one behind the other payload, completion, event and message.
    assert latency(node__interconnects__pcie__link_latency="15ns") - at_once == 6 * 10
    assert latency(interfaces__verbs__engine_time="50ns") - at_once == 4 * 10
    assert latency(operating_system__interrupt_time="2007ns") - at_once == 7
    assert latency(operating_system__system_call_time="50ns") == at_once, "it is over before"
    # Moderation counts from event to event.
    moderation = "interfaces__verbs__interrupt_moderation"
    assert latency(**{moderation: "20us"}) == 20_000
    assert latency(**{moderation: "20005ns"}) == 20_005
    assert latency(**{moderation: "20us"}, interfaces__verbs__interrupt_packets="1") == at_once


@pytest.mark.parametrize("what", ["send", "read", "bandwidth"])
def test_a_program_that_sleeps_until_events_ends_alike_with_any_threads(what):
    asked = ("verbs-events", what, 64, 64, 16)
    chosen = {"interface": "Verbs", "nodes": 2, **WITH_EVENTS}
    one, two = (narthex.run(*asked, threads=threads, **chosen) for threads in (1, 2))
    assert json.dumps(one.document) == json.dumps(two.document)
    assert one.value("events") >= (64 if what == "send" else 1)


def test_a_program_that_sleeps_until_events_goes_on_from_a_checkpoint(tmp_path):
    asked, place = ("verbs-events", "send", 64, 10000, 16), tmp_path / "kept"
    chosen = {"interface": "Verbs", "nodes": 2, **WITH_EVENTS}
    with pytest.raises(NarthexError, match="interrupted"):
        narthex.run(*asked, checkpoint=place, observer=lambda _time_ps: False, **chosen)
    resumed = narthex.run(*asked, checkpoint=place, resume=True, **chosen)
    assert resumed.document == narthex.run(*asked, **chosen).document


def test_without_an_interface_of_the_kind_there_is_no_device():
    with pytest.raises(NarthexError, match="no device with verbs"):
        run("verbs-latency", interface="NI2w", nodes=2)
