"""Names of views that others ask for."""

COUNTS = "counts"
"""The weighting that is none: how often a word occurs, no idf, rows as they are."""

BM25 = "bm25"
"""The weighting whose rows of queries are others than those of documents (`views.bm25`)."""

LM = "lm"
"""The same with the weights of a language model (`views.lm`)."""

FIELDS = "fields"
"""The weighting that is none, and has columns of their own for each short field (`views.fields`);
only documents have it."""

PHRASES = "phrases"
"""Words that stand near each other in the title or in a heading (`views.phrases`); only documents
have it, where they are no queries."""

OF_DOCUMENTS = (FIELDS, PHRASES)
"""Views that only documents have."""
