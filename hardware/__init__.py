"""Hardware of network interfaces: designs in Amaranth and Verilog.

| folder | what |
| --- | --- |
| `cache` | a second-level cache with the network interface in it |
| `queues` | queues of cachable device registers and memory, of the interfaces of 1996 and 1998 |
| `ni2w` | a FIFO of two registers, and with user-level DMA, as examples of one's own Verilog |

Nothing here is needed to run programs: `narthex[hardware]` brings what builds and measures it.
"""
