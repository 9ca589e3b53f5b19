"""What hardware costs: look-up tables, flip-flops, gates and frequency of a design.

    Amaranth, Verilog ──► sources ──► RTLIL ──► area ───────► LUTs, flip-flops, gates, by block
                                        │         ▲
                                        │      targets: what a technology's cells count as
                                        └────► frequency ───► MHz on an ECP5

`designs` knows those that come with Narthex by their names. `tools` runs yosys and nextpnr, which
the extra `hardware` brings as WebAssembly: neither needs root, and each compiles itself once, for
about a minute. A result is kept in the cache folder under the hash of the RTLIL, of what is asked
and of the tool's version. `measuring` does all of it for `narthex hardware area`, `figure` draws
it, and the experiment `sarc/logic` sets it beside Figure 7.
"""
