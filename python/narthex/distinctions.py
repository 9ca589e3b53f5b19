"""What distinguishes each name that `narthex list` shows, in a line.

Interfaces of a family have one summary, which their model states; what one name is beside the
others of its family stands here. The first clause of a program's, a machine's or an
experiment's summary is enough.
"""

import re

LONGEST = 80
"""Characters of a line beside its name."""

LONGEST_NAME = 25
"""Characters before a colon that only say of what the clause behind it is."""

INTERFACES = {
    "CNI0Qm": "queues in main memory, none of them cached in the interface",
    "CNI4": "4 blocks of cachable registers, reused after a three-cycle handshake",
    "CNI16Q": "queues of 16 blocks in memory of the interface",
    "CNI512Q": "queues of 512 blocks in memory of the interface",
    "CNI16Qm": "queues in main memory, 16 blocks of them cached in the interface",
    "CNI32Qm": "queues in main memory, 32 blocks of them cached in the interface",
    "CNI32Qm+Throttle": "as CNI32Qm, with senders as fast as messages are consumed",
    "NI2w": "a FIFO of 2 words behind uncached registers",
    "NI16w+Blkbuf": "a FIFO of 16 words behind block buffers in the processor",
    "NI64w+Udma": "a FIFO of 64 words with user-level DMA",
    "PioCoherent": "cache blocks of the interface, loads of which it holds until a packet has come",
    "CoherentRing": "rings of buffers in coherent memory, and flags in their descriptors",
    "PcieBench": "a card that reads and writes the host's memory, and times it",
    "Ring": "descriptor rings in main memory, and registers for their tails",
    "CxlNic": "descriptor rings in main memory, whose tails it watches there",
    "CxlNic2": "a send queue in memory of the interface, to which the processor flushes packets",
    "Virtio": "split virtqueues in main memory, and kicks when the interface asks for them",
    "RegisterFile": "queues behind two general registers of the processor",
    "Verbs": "queue pairs, completions and registered memory",
    "SARC": "a message for a full queue is an error: senders know the room",
    "SARC+Nack": "a message for a full queue comes back and is sent again",
    "EDT": "sends blocks as they are written, and keeps new ones until they are read",
    "EDT+DmaReceive": "sends as EDT, and writes what arrives to memory by DMA",
    "CCDMA-intervention": "coherent DMA; a cache with newer data supplies it",
    "CCDMA-retry": "coherent DMA; a cache with newer data writes it home first",
    "DMA-flush": "DMA that no cache sees; the library flushes the caches",
    "PIO": "the processor stores and loads each message itself",
    "PIO+WriteCombining": "as PIO; the processor joins stores",
    "Voyager-resident": "queues of hardware: slots in the interface's SRAM",
    "Voyager-nonresident": "queues of firmware: slots in the program's memory",
    "Voyager-hybrid": "few queues of hardware that firmware lends to those in use",
    "Voyager-CNI": "cachable queues of firmware in snooped main memory",
}

_PARENTHESES = re.compile(r" \([^()]*\)")


def brief(summary: str) -> str:
    """Return the first clause of a summary; a name before a colon is none."""
    text = _PARENTHESES.sub("", summary).partition("; ")[0]
    clause, colon, rest = text.partition(": ")
    if len(clause) < LONGEST_NAME:
        clause += colon + rest.partition(": ")[0]
    if len(clause) <= LONGEST:
        return clause
    end = clause.rfind(", ", 0, LONGEST)
    return clause[:end] if end > 0 else clause.partition(", ")[0]


def of_interface(name: str, summary: str) -> str:
    """Return what an interface is beside the others of its family."""
    return INTERFACES.get(name) or brief(summary)
