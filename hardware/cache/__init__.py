"""A second-level cache with the network interface in it (the SARC prototype, Sections 3 and 4).

```text
   first level                     network
       │ ▲                       │         ▲
   processor, response      network_in  network_out
       │ │                       │         │
  ┌────▼─┴──────────┐     ┌──────▼──┐  ┌───┴────┐     ┌──────────┐
  │     ports of the pipeline       │  │        │◄────┤ job list │
  │ ask ──► tags, states ──► words  │◄─┤ engine │     │ answers  │
  │          │  compare, events ────┼──┼────────┼────►│ payload  │
  └──────────┼──────────────────────┘  └───┬────┘     └──────────┘
      lines, words (arrays)             table (of regions)
```

A phased pipeline takes an access a cycle: in the first cycle one of the arriving packets, the
engine and the processor gets the port, in this order, and the set's states and tags are asked for;
in the second they are compared, and the event of the line's role is carried out; in the third the
word that was asked for is there. All accesses, of packets too, take this one way: "event
responses leverage line tag and state lookup in the normal cache access flow" (Section 1). What
an event needs of the line's words (a command's first word, a counter's reset value, a queue's
shape) is read in further cycles, for which the pipeline stands still.

The engine makes all packets. A cache alone has it for its lines: a write-back is a copy of 64 bytes
from a line to memory, a fill is a read of 64 bytes to one. With the interface, the same engine
makes the packets of the job list. Memory, cached or not, is behind the network: there is no other
port to DRAM. A read of a line must not pass a write-back of it that left the tile before.

| file | what |
| --- | --- |
| `parameters` | sizes and mechanisms; the variants that Figure 7 compares |
| `formats` | addresses, packets, states, faults |
| `ports` | every port |
| `controller` | the pipeline |
| `lookup` | which way an access means, which one is replaced |
| `events` | what accesses to command buffers, counters and queues do |
| `misses` | lines that come and go |
| `arrivals` | packets that come |
| `jobs` | what is to be sent: job list, answers, payload |
| `engine` | packets that leave |
| `combining` | remote stores that wait for each other |
| `tile` | a controller with its arrays and its table of regions |
| `partitioned` | a cache and a scratchpad with an interface, each with a controller of its own |
| `requests` | what a request of the processor means |
| `queues` | the states of the events for queues |
| `fetching`, `alignment` | what the engine does before a packet; the barrel shifter |
| `region_table` | the table of regions |
| `properties`, `mutants` | what is proven of it, and faults that the proofs have to find |

## Where it differs from the model in `interfaces/src/sarc`

- A command's words are read, and its addresses translated, when its job is at the head of the
  list (Section 3.2: "such arguments are read ... when the relevant job description appears at the
  top of the job-list"); until then its buffer is `QUEUED`. The model reads them when the command is
  complete. So is a counter's notification: one job, whose word and addresses are read in its turn.
- The job list has an end also for what the interface itself has to send: near it, packets that
  could lead to a job wait in their lanes. The model's list grows.
- Who owns a remote line is checked where it is, when the packet comes; the model looks there
  before.
- Words of a packet are checked one by one: of a write that is refused, the words before stay.
- A request that waits in a queue keeps its reader's addresses without the model's adder: bit 62
  says whether there is an acknowledgement, and bits 33 to 3 of each address stand at 31 and 0.
- A chip of one: no packet goes to other chips (`Stored`), no full queue returns one (`Returned`).
  That a remote store has arrived is told by the crossbar (`landed`, `arrived`).
- Marking a line checks no notification addresses and no shape: they are checked when they are used.
- `invalidate` names every line selected for the first level that a packet changes, whether it is
  there or not.
- Lock box and registers of the chip's other parts are elsewhere: here are only the tile's.
- Acknowledgements go before answers, and both before jobs; the model has one list for the two.
- The line of a queue's slot is checked whenever a slot is used, not when the shape is stored.
"""
