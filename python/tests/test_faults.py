"""A fault names the calls that led there, each once, and none that have returned."""

import pytest

import narthex
from narthex import NarthexError

DEEP = """
struct holder { int *place; };
volatile int kept;
#define APART __attribute__((noinline))
APART int leaf(int value) { kept = value; return value; }
APART int load(struct holder *one) { return leaf(1) + *one->place; }
APART int inner(struct holder *one) { return load(one) + 1; }
APART int outer(struct holder *one) { return inner(one) + 1; }
APART int begin(struct holder *one) { return outer(one) + 1; }
int main(void) { struct holder one = {(int *)16}; return begin(&one); }
"""


def test_a_wild_pointer_four_calls_deep_shows_them_all(tmp_path):
    file = tmp_path / "deep.c"
    file.write_text(DEEP)
    with pytest.raises(NarthexError, match="load from 0x10") as found:
        narthex.run(file, nodes=1)
    lines = [line.split() for line in str(found.value).splitlines()]
    named = [word.partition("+")[0] for words in lines for word in words if "+0x" in word]
    assert named[:6] == ["load", "inner", "outer", "begin", "main", named[5]]
    assert "leaf" not in named


ENDS = {
    "check": ('narthex_check(1 > 2, "one is %d", 1);', "node 0, processor 0: one is 1"),
    "signal": ("abort();", "the program ended itself with signal 6"),
    "ignored signal": ("signal(SIGTERM, SIG_IGN); raise(SIGTERM); return 3;", "exit code 3"),
    "fault": ("*(volatile int *)16 = 1;", "store to 0x10"),
}


@pytest.mark.parametrize("ending", ENDS)
def test_registers_are_shown_of_a_fault_and_not_of_what_a_program_says_itself(ending, tmp_path):
    statement, message = ENDS[ending]
    file = tmp_path / "ends.c"
    file.write_text(
        "#include <narthex.h>\n#include <signal.h>\n#include <stdlib.h>\n"
        f"int main(void) {{ {statement} return 0; }}"
    )
    with pytest.raises(NarthexError, match=message) as found:
        narthex.run(file, nodes=1)
    assert "main+" in str(found.value) or ending == "ignored signal"
    assert ("\n  zero 00000000" in str(found.value)) == (ending == "fault")
