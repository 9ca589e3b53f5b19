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
