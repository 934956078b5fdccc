"""Maps of words of documents that are given as words."""

from ssi_core.guests.monitoring.cooccurrence import count_words, word_map


def map_of(documents, words=None, **how):
    texts = [" ".join(document) for document in documents]
    return word_map(count_words(texts, ["en"] * len(texts)), words, **how)
