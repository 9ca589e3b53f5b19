"""The hardware of the interfaces of 1996 and 1998: what is theirs beyond a bus and a network.

```text
  bus ──► decode ──► fifo        NI2w: registers in front of FIFOs
             │
             ├─────► registers   CNI_4: cachable device registers
             │
             └─────► interface   CNI_i Q, CNI_i Qm: cachable queues
                       pointers, blocks, send, receive
```

Each has the logic between its ports to the bus and to the network: compare of addresses, pointers,
the state machines of its engines, the protocol's part of its blocks. Arrays of data, tags and
states are ports, as in the count of the cache-integrated interface. The bus's own state machine
(arbitration, retries, the shift of words) and the network's are the same for all of them and are
left out. No paper prints gates of these interfaces.

The models in `interfaces/src/fifo`, `cachable_register` and `cachable_queue` are what the designs
do; what the models need besides (statistics, timing, switched-off rules) they have not.
"""

from collections.abc import Callable

from narthex.hardware.queues.fifo import Fifos
from narthex.hardware.queues.interface import CachableQueues
from narthex.hardware.queues.registers import CachableRegisters

DESIGNS: dict[str, Callable[[], object]] = {
    "NI2w": Fifos,
    "CNI4": CachableRegisters,
    "CNI16Q": lambda: CachableQueues(16),
    "CNI512Q": lambda: CachableQueues(512),
    "CNI16Qm": lambda: CachableQueues(512, 16, "write-back"),
    "CNI32Qm": lambda: CachableQueues(512, 32, "bypass"),
}
"""The interfaces by name. A queue in main memory has 512 blocks (isca96, Section 3)."""
