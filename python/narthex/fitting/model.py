"""LogGP: what a message costs, in four lines over its size.

    sender     ███ o_s ███                              ███ next message
                          ╲                             ▲
                           ╲  L                  g(k) ──┘ at the earliest
                            ╲
    receiver                 ███ o_r ███

LogP (Culler et al. 1993) has the latency L, the overhead o for which a
processor is engaged, and the gap g between messages; LogGP (Alexandrov et al.
1995) adds G, what each further byte of a long message adds to the gap; LogGOPS
(Hoefler et al. 2010) adds O, what it adds to the overhead. Here each of the four
is a line over the size of k bytes, with overheads for either side, so that they
hold for processors that copy every byte to a device as for those that do not:

    o_s(k) = o_s + (k-1) O_s        L(k) = L + (k-1) L_byte
    o_r(k) = o_r + (k-1) O_r        g(k) = g + (k-1) G

    one way T(k) = o_s(k) + L(k) + o_r(k) = L + o_s + o_r + (k-1) G_T

where G_T = O_s + L_byte + O_r. In LogGP proper the wire is all that takes time for a
byte, so G_T = G. Where processors copy, a message's bytes pass them one
after the other, and the bytes of a stream at the same time: G_T > G.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """Time over the size of a message."""

    first_ns: float
    """For the first byte."""
    per_byte_ns: float
    """For each further one."""

    def at(self, size: int) -> float:
        """Return the time for a message of `size` bytes, in nanoseconds."""
        return self.first_ns + (size - 1) * self.per_byte_ns

    def plus(self, other: "Line", factor: float = 1.0) -> "Line":
        """Return the sum of this and of a multiple of another."""
        return Line(
            self.first_ns + factor * other.first_ns,
            self.per_byte_ns + factor * other.per_byte_ns,
        )


@dataclass(frozen=True)
class LogGP:
    """The parameters of one interface."""

    latency: Line
    """L: from the end of the sender's overhead to the beginning of the receiver's."""
    send_overhead: Line
    """o_s and O_s: the processor is engaged in sending."""
    receive_overhead: Line
    """o_r and O_r: the processor is engaged in receiving."""
    gap: Line
    """g and G: between the messages of a saturated stream."""

    @property
    def one_way(self) -> Line:
        """T: from the call that sends to the handler's end."""
        return self.latency.plus(self.send_overhead).plus(self.receive_overhead)

    def round_trip_ns(self, size: int) -> float:
        """Predict the round trip of `size` bytes: 2 (L + o_s + o_r + (k-1) G_T)."""
        return 2 * self.one_way.at(size)
