"""A cache and a scratchpad beside each other: what the integrated design is compared with.

Each has a controller of its own, with its own pipeline, its own packets in and out and its own
arrays (Figure 7, "partitioned"). Only the processor has one port for both: an address tells which
one is asked, and none is asked before the other has answered.
"""

from dataclasses import replace

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from narthex.hardware.cache.controller import Controller
from narthex.hardware.cache.parameters import CACHE_ONLY, SCRATCHPAD_ONLY, Parameters
from narthex.hardware.cache.ports import Requests, Responses, signature

SHARED = ("processor", "response", "tile")
MOST_ASKED = 8
"""Requests that may be without an answer; more than a controller's pipeline holds."""


class Partitioned(wiring.Component):
    """The two controllers behind one processor's port."""

    def __init__(
        self, cache: Parameters = CACHE_ONLY, scratchpad: Parameters = SCRATCHPAD_ONLY
    ) -> None:
        half = {"l2_bytes": cache.l2_bytes // 2}
        self.cache = Controller(replace(cache, **half))
        self.scratchpad = Controller(replace(scratchpad, **half))
        self.parts = {"cache": self.cache, "scratchpad": self.scratchpad}
        members = {
            "tile": In(cache.tile_bits),
            "processor": In(Requests(cache)),
            "response": Out(Responses()),
        }
        for name, part in self.parts.items():
            for port, member in signature(part.parameters).members.items():
                if port not in SHARED:
                    members[f"{name}_{port}"] = member
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        """Build it."""
        m = Module()
        for name, part in self.parts.items():
            m.submodules[name] = part
            m.d.comb += part.tile.eq(self.tile)
            for port, member in signature(part.parameters).members.items():
                if port not in SHARED:
                    self._lead_out(m, member, getattr(self, f"{name}_{port}"), getattr(part, port))
        self._processor(m)
        return m

    def _lead_out(self, m: Module, member: wiring.Member, outer: object, inner: object) -> None:
        if member.is_port:
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        else:
            wiring.connect(m, wiring.flipped(outer), inner)

    def _processor(self, m: Module) -> None:
        """Ask the part that an address means, and give its answers in the order of the requests."""
        cache, scratchpad = self.cache, self.scratchpad
        port, asked = self.processor, Signal(range(MOST_ASKED))
        is_scratchpad, last, may = Signal(), Signal(), Signal()
        m.d.comb += [
            is_scratchpad.eq(port.address[36]),
            may.eq((asked == 0) | ((last == is_scratchpad) & (asked != MOST_ASKED - 1))),
            cache.processor.valid.eq(port.valid & may & ~is_scratchpad),
            scratchpad.processor.valid.eq(port.valid & may & is_scratchpad),
            port.ready.eq(
                may & Mux(is_scratchpad, scratchpad.processor.ready, cache.processor.ready)
            ),
        ]
        for part in (cache, scratchpad):
            for field in ("address", "store", "size", "data", "process", "privileged"):
                m.d.comb += getattr(part.processor, field).eq(getattr(port, field))
        is_taken = port.valid & port.ready
        m.d.sync += asked.eq(asked + is_taken - self.response.valid)
        with m.If(is_taken):
            m.d.sync += last.eq(is_scratchpad)
        answers = self.response
        m.d.comb += answers.valid.eq(cache.response.valid | scratchpad.response.valid)
        for field in ("data", "fault", "keep"):
            own, other = getattr(scratchpad.response, field), getattr(cache.response, field)
            m.d.comb += getattr(answers, field).eq(Mux(last, own, other))
