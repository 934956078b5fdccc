"""Decisions about a registered model."""

from dataclasses import fields

import pytest

from flows.tracking.decisions import Retraining


@pytest.mark.parametrize(
    ("gain", "start", "no_worse", "from_scratch"),
    [
        (None, "scratch: new words", False, True),
        (-0.001, "champion", False, False),
        (0.0, "champion of scratch", True, False),
        (0.001, "scratch", True, True),
    ],
)
def test_a_challenger_is_no_worse_if_it_gained_nothing_or_more(gain, start, no_worse, from_scratch):
    rest = dict.fromkeys((field.name for field in fields(Retraining)), "")
    one = Retraining(**rest | {"gain": gain, "start": start})
    assert (one.is_no_worse, one.from_scratch) == (no_worse, from_scratch)
