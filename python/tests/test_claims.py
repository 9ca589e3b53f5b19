"""The language of claims: what it says, and that it says nothing else."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from narthex import NarthexError
from narthex.validation import claims

VALUES = {
    ("NI2w", "8 bytes"): 2.4,
    ("CNI512Q", "8 bytes"): 1.6,
    ("(NI16w+Blkbuf)S(CNI0Qm)R", "8 bytes"): 1.5,
    ("NI2w", "64 bytes"): 5.3,
}


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("'CNI512Q' < 'NI2w'", True),
        ("'(NI16w+Blkbuf)S(CNI0Qm)R' < 'CNI512Q' < 'NI2w'", True),
        ("'CNI512Q' > 'NI2w'", False),
        ("'NI2w' / 'CNI512Q' - 1 >= 0.4", True),
        ("'NI2w' < 'NI2w @ 64 bytes'", True),
        ("max('NI2w', 'CNI512Q') <= 2.4 and not 'NI2w' < 2", True),
        ("abs('CNI512Q' - 'NI2w') < 0.1 or 'NI2w' < -1", False),
    ],
)
def test_a_claim_compares_measured_values(expression, holds):
    assert claims.holds(expression, VALUES, claims.At("8 bytes")) is holds


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true') < 1",
        "().__class__ < 1",
        "open('NI2w') < 1",
        "[x for x in 'NI2w'] < 1",
        "'NI2w' ** 99 < 1",
        "True < 1",
        "max() < 1",
        "'NI2w'",
        "'NI2w' == 2.4",
        "1 <",
        "",
        "1 < " + "9" * 400,
        "1 < " + "9" * 5000,
        "1 < 1e999",
        "1 < " + "-" * 900 + "1",
        "1 < " + "+".join(["1"] * 900),
        "not " * 900 + "1 < 2",
        "(" * 5000 + "1 < 2" + ")" * 5000,
    ],
    ids=lambda expression: expression[:20],
)
def test_nothing_else_is_evaluated(expression):
    with pytest.raises(NarthexError):
        claims.holds(expression, VALUES, claims.At("8 bytes"))


SIZES = claims.At("8 bytes", ["8 bytes", "64 bytes"])


def test_a_mean_is_over_the_workloads_of_its_claim():
    assert claims.value("mean('NI2w' / 2)", VALUES, SIZES) == pytest.approx((2.4 + 5.3) / 4)
    assert claims.names("mean('NI2w') < 'CNI512Q'", SIZES.workloads) == [
        "NI2w @ 8 bytes", "NI2w @ 64 bytes", "CNI512Q",
    ]  # fmt: skip
    assert ("NI2w", "64 bytes") in claims.cells("mean('NI2w') < 9", SIZES)


@pytest.mark.parametrize(
    ("expression", "once"),
    [
        ("mean('NI2w') < 4", True),
        ("'NI2w @ 8 bytes' < 'NI2w @ 64 bytes'", True),
        ("mean('NI2w') < 'NI2w'", False),
    ],
)
def test_a_claim_that_names_all_its_workloads_is_looked_at_once(expression, once):
    assert claims.is_looked_at_once(expression, SIZES.workloads) is once


def test_an_unknown_interface_is_named_with_the_nearest():
    with pytest.raises(NarthexError, match="did you mean 'CNI512Q'"):
        claims.holds("'CNI512' < 1", VALUES, claims.At("8 bytes"))


def test_a_wrong_name_never_hides_behind_an_or():
    with pytest.raises(NarthexError, match="NI9"):
        claims.holds("'NI2w' > 0 or 'NI9' > 0", VALUES, claims.At("8 bytes"))


@given(st.floats(0.1, 1e6), st.floats(0.1, 1e6))
def test_an_ordering_holds_exactly_one_way(first, second):
    values = {("A", "w"): first, ("B", "w"): second}
    forward = claims.holds("'A' < 'B'", values, claims.At("w"))
    assert forward is not claims.holds("'B' <= 'A'", values, claims.At("w"))


@given(st.text(max_size=40))
def test_any_text_gives_an_answer_or_a_narthex_error(text):
    with contextlib.suppress(NarthexError, ZeroDivisionError):
        claims.holds(text, VALUES, claims.At("8 bytes"))
