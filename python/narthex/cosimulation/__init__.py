"""Hardware in the place of an interface's model: RTL that is simulated in a run.

    design.toml ──► designs ──► build: yosys ──► CXXRTL's C++ ──► ziglang ──► a shared object

The simulator loads the shared object (interfaces/src/rtl) and makes an instance for each node.
"""
