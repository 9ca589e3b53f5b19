"""Access tags, from C: what they refuse, who handles it, what is not handled."""

import pytest

import narthex


@pytest.mark.parametrize("machine", ["hpca98", "isca96"])
def test_a_program_handles_what_its_tags_refuse(machine):
    result = narthex.run("tags", machine=machine, nodes=1)
    names = ["tag_read_faults", "tag_write_faults"]
    counts = dict(result.statistics.select("name", "value").iter_rows())
    assert [counts[name] for name in names] == [3, 2]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("unhandled", "block 0x20000000 is tagged none; no handler is installed (utvec is 0)"),
        ("nested", "has not returned yet (uret) from the access to 0x20000028"),
        ("outside", "tagged memory is 0x20000000 to 0x40000000"),
    ],
)
def test_what_is_not_handled_ends_the_run_and_says_why(what, message):
    with pytest.raises(narthex.NarthexError) as caught:
        narthex.run("tags", what, nodes=1)
    assert message in str(caught.value)
