"""Views of texts with fields."""

from dataclasses import replace

import numpy as np

from ssi_core.text.fields import FIELDS, join
from tests.serving.models import views


def test_short_fields_are_counted_where_a_text_has_some():
    view = replace(views()["counts"].named("fields"), fields=FIELDS)
    whole = view.transform([join(text="car", title="moon rocket"), "car"])

    assert whole.shape == (2, view.width)
    assert np.diff(whole.indptr).tolist() == [2, 0]
    assert view.transform(["car", "moon"]).shape == (2, view.width)
    assert view.transform(["car", "moon"]).nnz == 0
