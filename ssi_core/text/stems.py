"""Stems of the words of an English text, without its stop words."""

from __future__ import annotations

from ssi_core.text.porter import stem
from ssi_core.text.stop_words import ENGLISH
from ssi_core.text.tokenizer import tokenize


def stems_of(text: str) -> list[str]:
    """List the stems of the words of an English text that are no stop words.

    >>> stems_of("The ships were sailing for 3 harbours")
    ['ship', 'sail', '3', 'harbour']
    """
    return [stem(word) for word in tokenize(text) if word not in ENGLISH]
