"""`make bench`: how fast the simulator is, as a table of ratios and as JSON.

```
 criterion benches            runs of target/release/examples/run     cachegrind or perf
 (processor, event queue,     (messages, programs, threads,           (host instructions
  windows, ping-pongs)         memory and time as nodes grow)          of both)
        |                               |                                    |
        +--------------- groups of measures, each with a baseline ----------+
                                        |
                        table on the screen, results/bench.json
```

A figure in seconds says as much about the machine it was measured on, and about
who else used that machine, as about the simulator. So every measure has a
*baseline* in its own group and run, and the ratio to it is what may be compared
with another day (`--against`). What can be measured by turns is: the cases of a
group take turns in every round, and a ratio is the median of the rounds' ratios.
Host instructions need no ratio: they are counted, and come out alike every time.

| module | what it holds |
| --- | --- |
| `measure` | a measure, medians and their intervals, ratios |
| `building` | what is measured, built by one call of cargo |
| `criterion` | the Rust benches: run, and their results read |
| `simulator` | a run of the simulator in a process of its own, and what it cost |
| `counting` | host instructions, where the machine lets one count them |
| `layers` | which layer of the simulator they go to, by callgrind |
| `programs` | the groups that are made of runs |
| `plan` | all groups, in the order of the table |
| `document` | the JSON file |
| `table` | the table, and the comparison of two runs |
| `page` | the figures in docs/performance.md |
"""
