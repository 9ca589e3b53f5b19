"""The examples in the docstrings of the package are true."""

import doctest
import importlib
import inspect

import pytest

import narthex

CALLS = [name for name in narthex.__all__ if inspect.isfunction(getattr(narthex, name))]
MODULES = sorted({getattr(narthex, name).__module__ for name in narthex.__all__})


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", CALLS)
def test_every_public_call_has_an_example(name):
    examples = doctest.DocTestParser().get_examples(getattr(narthex, name).__doc__)
    assert any(f"narthex.{name}(" in example.source for example in examples)
    assert not any(doctest.SKIP in example.options for example in examples)
