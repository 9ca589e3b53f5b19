"""Accesses to lines, in the form in which packets and the engine make them.

The processor's requests keep the form of their port: they may mean other things than lines.
"""

import enum

from amaranth.hdl import Value, unsigned
from amaranth.lib import data

from narthex.hardware.cache.formats import header_layout
from narthex.hardware.cache.parameters import Parameters


class Action(enum.IntEnum):
    """What an access does."""

    WRITE = 0
    """A word of a packet is written."""
    READ = 1
    """A read request for memory: of scratchpad it becomes a job, of other lines an answer."""
    LOAD = 2
    """A read request of a processor elsewhere."""
    ANSWER = 3
    """No line: the own processor gets the word that it waits for."""
    PLAIN = 4
    """The engine reads a word of a line that it knows."""
    PROBE = 5
    """The engine asks whether it may read a line so; else it is read as a packet would."""
    TAKE = 6
    """The engine has taken a command out of its buffer."""


def access_layout(parameters: Parameters) -> data.StructLayout:
    """Return an access to a word of the own lines."""
    return data.StructLayout(
        {
            "action": unsigned(3),
            "place": unsigned(parameters.line_bits + 3),  # way, set, word
            "data": unsigned(64),
            "bytes": unsigned(8),  # those that are written
            "first": unsigned(1),  # of its packet
            "last": unsigned(1),
            "whole": unsigned(1),  # whole words
            "beyond": unsigned(1),  # no such line
        }
    )


def header_of(value: Value) -> data.View:
    """Return flit 0 of a packet."""
    return data.View(header_layout(), value)
