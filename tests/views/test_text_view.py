"""Views of texts with fields."""

from dataclasses import replace

import numpy as np

from ssi_core.text.fields import FIELDS, SHORT, join
from ssi_core.views import text_view
from ssi_core.views.lexicon import Lexicon
from tests.serving.models import views
from tests.views.test_views import view_of


def test_short_fields_are_counted_where_a_text_has_some():
    view = replace(views()["counts"].named("fields"), fields=FIELDS)
    whole = view.transform([join(text="car", title="moon rocket"), "car"])

    assert whole.shape == (2, view.width)
    assert np.diff(whole.indptr).tolist() == [2, 0]
    assert view.transform(["car", "moon"]).shape == (2, view.width)
    assert view.transform(["car", "moon"]).nnz == 0


WORDS = ["the", "cat", "sat", "été"]
TEXTS = [join(text="the cat the ÉTÉ", title="cat"), "", "sat sat unknown"]


def several():
    plain = {name: view_of(WORDS, name) for name in ("raw", "sublinear:2", "counts", "bm25")}
    short = replace(view_of(WORDS, "counts"), fields=("title",))
    return {
        **plain,
        "fields": replace(view_of(WORDS, "fields"), fields=FIELDS),
        "titles": short,
        "others": view_of(WORDS[::-1]),
        "in French": view_of(WORDS, "raw", "fr"),
    }


def bits(rows):
    parts = (rows.data, rows.indices, rows.indptr)
    return rows.shape, [(part.dtype, part.tobytes()) for part in parts]


def test_views_of_the_same_words_read_a_text_once_and_have_the_same_rows(monkeypatch):
    apart, together = several(), several()
    text_view.share_lexicons(together.values())
    monkeypatch.setattr(text_view, "batches", lambda texts: ([text] for text in texts))
    counted = []
    count = Lexicon.count
    monkeypatch.setattr(Lexicon, "count", lambda *given: counted.append(1) or count(*given))
    rows = text_view.rows_in_views(together, TEXTS)

    # Of four views; of titles; of other words; in another language; of each short field.
    assert len(counted) == len(TEXTS) * (1 + 1 + 1 + 1 + len(SHORT))
    assert list(rows) == list(apart)
    for name, view in apart.items():
        assert bits(rows[name]) == bits(view.transform(TEXTS)), name
    assert text_view.rows_in_views(together, [])["raw"].shape == (0, len(WORDS))
