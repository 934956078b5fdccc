"""Views of queries that are rewritten before they are read: translated, or without phrases.

``dictionary.raw`` is the view ``raw`` of the documents' words, read from a query whose words were
translated one by one, so that every model of one language runs on it unchanged, a diagonal too.

==============  ====================================================================================
``dictionary``  each word, or the longest run of words that the dictionary has, becomes the words of
                all its translations, each once; a word without a translation stands for itself
``translated``  queries are given in the documents' language, and are read as they are
``untitled``    the titles of the queries' language are cut out; the words are the queries' own
==============  ====================================================================================

On the side of documents such a view is the plain one behind the dot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import polars as pl

from ssi_core import files, store
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import TextMatrix
from ssi_core.views import text_view as views
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting

KINDS = ("dictionary", "translated", "untitled")
SHORTEST_TITLE = 3
"""Characters of the shortest title that is cut out; shorter ones are in too many other words."""


@dataclass(frozen=True)
class Rewriting:
    """View of rewritten queries, spelled ``KIND.WEIGHTING``."""

    kind: str
    weighting: Weighting

    def __str__(self) -> str:
        return f"{self.kind}.{self.weighting}"

    @classmethod
    def parse(cls, name: str) -> Rewriting:
        """Read a name; ValueError says how one is written.

        >>> Rewriting.parse("dictionary.sublinear:100").weighting.cut
        100
        """
        kind, _, weighting = name.partition(".")
        if kind not in KINDS:
            raise ValueError(
                f"view={name!r}: expected one of {', '.join(KINDS)} before the dot, and a "
                "weighting behind it, such as 'dictionary.raw'"
            )
        return cls(kind, Weighting.parse(weighting))


class Translation:
    """A dictionary, word by word: the longest run of words that it has comes first.

    Parameters
    ----------
    entries : DataFrame
        Columns ``source`` and ``target``, texts; every row is a translation.
    source, target : str
        Languages.
    """

    def __init__(self, entries: pl.DataFrame, source: str, target: str) -> None:
        self.entries, self.source, self.target = entries, source, target

    @cached_property
    def _words(self) -> Mapping[tuple[str, ...], dict[str, None]]:
        words: dict[tuple[str, ...], dict[str, None]] = {}
        for term, meant in self.entries.select("source", "target").iter_rows():
            if run := tuple(tokenize(term, self.source)):
                words.setdefault(run, {}).update(dict.fromkeys(tokenize(meant, self.target)))
        return words

    @cached_property
    def _longest(self) -> Mapping[str, int]:
        """Return the length of the longest run that begins with each word."""
        longest: dict[str, int] = {}
        for run in self._words:
            longest[run[0]] = max(longest.get(run[0], 0), len(run))
        return longest

    def __call__(self, texts: Iterable[str]) -> list[str]:
        """Translate texts."""
        return [" ".join(self._translated(tokenize(text, self.source))) for text in texts]

    def _translated(self, words: Sequence[str]) -> Iterator[str]:
        at = 0
        while at < len(words):
            for length in range(self._longest.get(words[at], 0), 0, -1):
                if meanings := self._words.get(tuple(words[at : at + length])):
                    yield from meanings
                    at += length
                    break
            else:
                yield words[at]
                at += 1


class Removal:
    """Cuts phrases out of texts, the longest at each place, from left to right.

    A phrase leaves a blank.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        longest_first = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
        self.phrases = [phrase for phrase in longest_first if len(phrase) >= SHORTEST_TITLE]

    def __call__(self, texts: Iterable[str]) -> list[str]:
        """Remove the phrases from texts."""
        given = pl.Series(list(texts), dtype=pl.String)
        if not self.phrases:
            return given.to_list()
        return given.str.replace_many(self.phrases, [" "], leftmost=True).to_list()


Rewriter: TypeAlias = Translation | Removal | None
"""What is done to texts before they are read; None: nothing."""


@dataclass(frozen=True, eq=False)
class RewrittenView:
    """Rows of rewritten texts (implements `types.View`).

    Attributes
    ----------
    rewriting : Rewriting
        Its spelling is the name of the view.
    rewriter : Rewriter
        From the raw text to the one that is read.
    base : TextView
        View of the words that are read then.
    """

    rewriting: Rewriting
    rewriter: Rewriter
    base: TextView

    @property
    def name(self) -> str:
        """The `Rewriting` as it is written."""
        return str(self.rewriting)

    @property
    def space(self) -> str:
        """Return the digest of the words that are read."""
        return self.base.space

    @property
    def words(self) -> Sequence[str]:
        """Words of the columns."""
        return self.base.words

    @property
    def language(self) -> str:
        """Language of the raw texts."""
        return (
            self.rewriter.source if isinstance(self.rewriter, Translation) else self.base.language
        )

    def rewritten(self, texts: Iterable[str]) -> list[str]:
        """Rewrite texts."""
        return list(texts) if self.rewriter is None else self.rewriter(texts)

    def transform(self, texts: Sequence[str]) -> TextMatrix:
        """Return the rows of raw texts: CSR float32 (len(texts), len(words))."""
        return self.base.transform(self.rewritten(texts))

    def named(self, weighting: Weighting) -> RewrittenView:
        """Return the view of another weighting on the same words and rewriter."""
        rewriting = Rewriting(self.rewriting.kind, weighting)
        return RewrittenView(rewriting, self.rewriter, self.base.named(str(weighting)))

    def save(self, directory: Path) -> None:
        """Write ``rewriting.json``, the words of the base, and what is translated or removed."""
        self.base.save(directory / "base")
        manifest = {"name": self.name}
        if isinstance(self.rewriter, Translation):
            self.rewriter.entries.write_parquet(directory / _ENTRIES)
            manifest |= {"source": self.rewriter.source, "target": self.rewriter.target}
        elif isinstance(self.rewriter, Removal):
            phrases = pl.DataFrame({"phrase": self.rewriter.phrases}, schema={"phrase": pl.String})
            phrases.write_parquet(directory / _PHRASES)
        store.write_json(directory / REWRITING, manifest)


REWRITING = "rewriting.json"
"""File that tells the directory of a rewritten view from others."""
_ENTRIES, _PHRASES = "dictionary.parquet", "phrases.parquet"


def load_view(directory: Path) -> RewrittenView:
    """Load a saved view; `BadInput` if it is damaged or of another tokenizer."""
    base = views.load_view(directory / "base")
    manifest = files.read_object(directory / REWRITING, views.AGAIN)
    with files.reading(directory / REWRITING, views.AGAIN):
        rewriting = Rewriting.parse(manifest["name"])
        rewriter: Rewriter = None
        if rewriting.kind == "dictionary":
            entries = files.read_strings(
                [directory / _ENTRIES], "source", "target", remedy=views.AGAIN
            )
            rewriter = Translation(entries, str(manifest["source"]), str(manifest["target"]))
        elif rewriting.kind == "untitled":
            phrases = files.read_strings([directory / _PHRASES], "phrase", remedy=views.AGAIN)
            rewriter = Removal(phrases["phrase"])
        return RewrittenView(rewriting, rewriter, base)
