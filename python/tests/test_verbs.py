"""Queue pairs, end to end: the library of verbs, the interface, and its errors."""

import polars as pl
import pytest

import narthex
from narthex.errors import NarthexError

STREAMS = (("write", "bandwidth"), ("read", "read-bandwidth"))
LENGTHS = (0, 1, 31, 32, 33, 63, 64, 65, 256, 257, 500)


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


def test_without_an_interface_of_the_kind_there_is_no_device():
    with pytest.raises(NarthexError, match="no device with verbs"):
        run("verbs-latency", interface="NI2w", nodes=2)
