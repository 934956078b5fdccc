import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.views.lexicon import to_columns


@given(st.lists(st.integers(-1, 20), unique=True), st.integers(1, 25))
def test_one_text_has_the_row_that_it_has_among_others(columns, width):
    numbers, counts = np.array(columns, np.int32), np.arange(len(columns), dtype=np.int32) + 1
    alone = to_columns(np.array([0, len(columns)]), numbers, counts, width)
    first = to_columns(np.array([0, len(columns), len(columns)]), numbers, counts, width)[:1]
    for part in ("indptr", "indices", "data"):
        ours, theirs = getattr(alone, part), getattr(first, part)
        assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())
    assert (type(alone), alone.shape) == (type(first), first.shape)
    assert alone.has_canonical_format
