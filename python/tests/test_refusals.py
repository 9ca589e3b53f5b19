"""A program that refuses its arguments: one clear error, and exit code 2."""

import pytest

import narthex
from narthex.errors import GUEST_FAILED, USAGE, NarthexError
from narthex.refusals import refusal

VOYAGER = {"machine": "voyager", "interface": "Voyager-hybrid", "nodes": 2}


def refused(*program, **run):
    with pytest.raises(NarthexError) as raised:
        narthex.run(*program, **run)
    return raised.value


@pytest.mark.parametrize(
    ("program", "run", "message"),
    [
        (
            ["roundtrip", "far"],
            {"nodes": 2},
            'roundtrip: argument 1 (bytes) is "far"; allowed are whole numbers from 0 to 8126464',
        ),
        (
            ["roundtrip", 8, 0],
            {"nodes": 2},
            'roundtrip: argument 2 (count) is "0"; allowed are whole numbers from 1 to 1000000000;'
            " the nearest is 1",
        ),
        (
            ["voyager-latency", "residen", "hybrid"],
            VOYAGER,
            'voyager-latency: a queue is resident, nonresident or hybrid, not "residen";'
            " did you mean 'resident'?",
        ),
        (
            ["voyager-latency"],
            VOYAGER,
            "voyager-latency TRANSMIT RECEIVE [BYTES [COUNT [WARM-UP]]] runs on two nodes",
        ),
        (
            ["sarc-locks", "tickt"],
            {"machine": "sarc-prototype", "interface": "SARC"},
            'sarc-locks: argument 1 (kind) is "tickt"; allowed are queue, queue-load, box,'
            " test-and-set, ticket, mcs; did you mean 'ticket'?",
        ),
        (
            ["em3d", 10],
            {"nodes": 2},
            "em3d: 10 graph nodes do not divide into two kinds on 16 processors;"
            " allowed are multiples of 32",
        ),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else "",
)
def test_wrong_arguments_of_a_program_are_wrong_usage(program, run, message):
    error = refused(*program, **run)
    assert (str(error), error.exit_code) == (message, USAGE)
    assert error.document["failure"] == message


def test_a_failed_check_is_no_refusal():
    error = refused("faults", "check", nodes=1)
    assert error.exit_code == GUEST_FAILED
    assert "one and one is not 3" in str(error)
    assert "called from" in str(error)


def test_what_fails_after_a_message_was_sent_is_no_refusal():
    told = 'node 0, processor 0: mine: argument 1 (x) is "3"; allowed are whole numbers from 0 to 2'
    error = NarthexError(f"{told}\n  at          0x10 main", GUEST_FAILED)
    error.document = {"nodes": [{"statistics": {"messages_sent": 0, "packets_sent": 0}}]}
    assert str(refusal(error)).endswith("; the nearest is 2")
    error.document["nodes"].append({"statistics": {"messages_sent": 1, "packets_sent": 1}})
    assert refusal(error) is error


def test_a_comparison_of_a_refused_program_says_it_once():
    with pytest.raises(NarthexError) as raised:
        narthex.compare("roundtrip", "far", nodes=2, interfaces=["NI2w", "CNI4"])
    assert raised.value.exit_code == USAGE
    assert str(raised.value).endswith(
        'NI2w, CNI4: roundtrip: argument 1 (bytes) is "far";'
        " allowed are whole numbers from 0 to 8126464"
    )
