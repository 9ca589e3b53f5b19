"""Threads that RegisterFile chooses, and messages that it puts together."""

import polars as pl
import pytest

import narthex
from narthex.errors import NarthexError

OF_MODEL = "register_file.interfaces.register_file"
CONTEXTS = [f"{OF_MODEL}.contexts=3", "processor.interrupt_cycles=5"]
MESSAGE = f"{OF_MODEL}.message=4096B"


def report(name, program, *arguments, settings):
    run = narthex.run(
        program, *arguments, interface="RegisterFile", machine="hpca98", nodes=2, set=settings
    )
    return run.reports.filter(pl.col("name") == name)["value"][0]


def short_requests(threads, settings):
    """Their 99th percentile, where each fiftieth request takes a hundred times as long."""
    load = (200, 64, 600, 60, "poisson", 1, threads)
    return report("short, p99", "thread-choice", *load, settings=settings)


def test_short_requests_do_not_wait_for_long_ones_where_the_interface_chooses_their_thread():
    alone = short_requests(1, CONTEXTS)
    assert short_requests(2, CONTEXTS) < alone / 5
    assert short_requests(2, []) > alone / 2, "the library serves them in order of arrival"


def test_a_program_that_asks_for_more_contexts_than_there_are_is_told_the_key():
    with pytest.raises(NarthexError, match=r"has 2 contexts.*need 3"):
        short_requests(2, [f"{OF_MODEL}.contexts=2", "processor.interrupt_cycles=5"])


def one_way(size, as_one, settings):
    return report("one way", "register-messages", size, 20, as_one, settings=settings)


@pytest.mark.parametrize("buffers", [1, 8])
def test_a_message_of_several_packets_is_pushed_and_popped_as_one(buffers):
    settings = [f'flow_control={{kind="pull", window=32, buffers={buffers}}}', MESSAGE]
    assert one_way(4096, 1, settings) > one_way(1024, 1, settings) > one_way(64, 1, settings)


def test_messages_as_one_take_buffers_that_hold_them():
    with pytest.raises(NarthexError, match="expected pull"):
        one_way(64, 1, [MESSAGE])
    pull = 'flow_control={kind="pull", window=32, buffers=2}'
    with pytest.raises(NarthexError, match="expected a multiple of 8B from 256B"):
        one_way(64, 1, [pull, f"{OF_MODEL}.message=248B"])
