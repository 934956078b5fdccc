"""Names of views that others ask for."""

from ssi_core.types import DERIVED_VIEWS

COUNTS = "counts"
"""The weighting that is none: how often a word occurs, no idf, rows as they are."""

BM25 = "bm25"
"""The weighting whose rows of queries are others than those of documents (`views.bm25`)."""

LM = "lm"
"""The same with the weights of a language model (`views.lm`)."""

FIELDS, PHRASES = DERIVED_VIEWS
"""The weighting that is none, and has columns of their own for each short field (`views.fields`);
and words that stand near each other in the title or in a heading (`views.phrases`), where documents
are no queries."""
