"""A concept base: what the pages of a collection are called, and which pages link to them.

Every page is a concept. Its phrases are its title, with and without what is in parentheses behind
it, its redirects and the words of links to it. From the texts and the links of the collection
follow

- the commonness of a concept for a phrase: of the pages that have the phrase and link to a concept
  of it, the share that link to this one;
- the keyphrase probability of a phrase: of the pages that have it, and are none of its concepts,
  the share that link to a concept of it. Words that are seldom meant as a concept, such as
  "position", have a small one.

A concept that no page with the phrase links to is none of the phrase's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core import files
from ssi_core.arrays import CSR_PARTS, ArraySpec, csr_specs
from ssi_core.collection import ANCHOR, LINK, Collection, open_collection
from ssi_core.estimator import Contents, Estimator, Fitted, Format, Saved
from ssi_core.guests.summary.phrases import LONGEST, Phrases
from ssi_core.text.tokenizer import identity, tokenize
from ssi_core.types import BadInput, Float32, Int64, Progress

_PARENTHESES = re.compile(r"\s*\([^()]*\)$")


@dataclass(frozen=True)
class ConceptBase(Fitted[Estimator]):
    """Concepts of a collection, their phrases and the links to them.

    Attributes
    ----------
    titles : tuple of str
        Title of each concept; a concept's place is its row.
    phrases : tuple of str
        Sorted; their words, as the language has them, with blanks between.
    commonness : CSR float32 (phrases, concepts)
        Rows of sum 1.
    keyphrase : float32 (phrases,)
        Probability that a phrase is meant as a concept.
    links_in : CSR bool (concepts, concepts)
        Row c: the pages that link to c.
    language : str
        Of the texts.
    """

    titles: tuple[str, ...]
    phrases: tuple[str, ...]
    commonness: sparse.csr_array
    keyphrase: Float32
    links_in: sparse.csr_array
    language: str
    form: ClassVar[Format] = Format(
        "concept base",
        "concepts.json",
        "Make it again with 'ssi rank summary concepts'.",
        folder="",
    )

    @classmethod
    def of(cls, collection: Path | Collection, progress: Progress | None = None) -> ConceptBase:
        """Make the concept base of a collection with texts and links.

        Parameters
        ----------
        collection : Path or Collection
            What ``ssi data ingest`` has written.
        progress : Progress, optional
            Told the share of the pages that are read.

        Raises
        ------
        BadInput
            The collection has no links, its documents are in several languages, or no text has a
            name of a page that it links to.
        """
        opened = collection if isinstance(collection, Collection) else open_collection(collection)
        names = opened.names("documents")
        rows = {id: row for row, id in enumerate(names["id"])}
        links_in = _links_in(opened, rows)
        if not links_in.nnz:
            raise BadInput(
                f"{opened.path}: it has no links between documents, so that nothing tells how "
                "related they are. Take a collection of a wiki, or of texts with --links."
            )
        language = _one_language(names, opened.path)
        named = _named(opened, rows, names["title"].to_list(), language)
        counts, having, linking = _counted(opened, rows, named, links_in, language, progress)
        linked = counts.sum(axis=1)
        kept = np.flatnonzero(linked > 0)
        if not len(kept):
            raise BadInput(
                f"{opened.path}: no text has the title of a document that it links to. A concept "
                "base needs the texts of linked pages, as 'ssi data ingest wikipedia' reads them."
            )
        counts = sparse.csr_array(counts[kept])
        share = sparse.diags_array(1 / linked[kept]) @ counts
        phrases = tuple(named)
        return cls(
            tuple(names["title"]),
            tuple(phrases[position] for position in kept),
            sparse.csr_array(share).astype(np.float32),
            (linking[kept] / having[kept]).astype(np.float32),
            links_in,
            language,
        )

    @cached_property
    def finder(self) -> Phrases:
        """Finder of the phrases among words."""
        return Phrases({phrase: row for row, phrase in enumerate(self.phrases)})

    @cached_property
    def meant(self) -> Int64:
        """Most common concept of each phrase; of equal ones the first."""
        best = np.empty(len(self.phrases), np.int64)
        start, indices, data = (getattr(self.commonness, n) for n in ("indptr", "indices", "data"))
        for row in range(len(best)):
            part = slice(start[row], start[row + 1])
            best[row] = indices[part][np.argmax(data[part])]
        return best

    def wikify(self, words: Sequence[str], least: float) -> list[int]:
        """Return the concepts that words name, in their order, each once.

        The longest phrase counts, so that "Kyoto Protocol" is neither "Kyoto" nor "Protocol"; it
        stands for its most common concept (the exact match of Miao and Li, section 3.1).

        Parameters
        ----------
        words : sequence of str
            As the tokenizer of `language` splits them.
        least : float
            Phrases of a smaller keyphrase probability are passed over.
        """
        matches = self.finder.longest(words, lambda row: bool(self.keyphrase[row] >= least))
        return list(dict.fromkeys(int(self.meant[row]) for row in matches))

    def contents(self) -> Contents[Estimator]:
        """Return the matrices, the probabilities and the names; there is nothing to set."""
        arrays = {"keyphrase": self.keyphrase}
        for name, matrix in (("commonness", self.commonness), ("links_in", self.links_in)):
            arrays |= {f"{name}/{part}": getattr(matrix, part) for part in CSR_PARTS}
        facts = {"language": self.language, "tokenizer": identity(self.language)}
        strings = {"titles": self.titles, "phrases": self.phrases}
        return Contents(None, arrays, facts, strings)

    @classmethod
    def restored(cls, saved: Saved[Estimator]) -> ConceptBase:
        """Read the matrices, of as many phrases and concepts as have a name."""
        facts, (titles, phrases) = saved.facts, saved.strings("titles", "phrases")
        if facts["tokenizer"] != identity(facts["language"]):
            raise ValueError("another version of ssi has read its words")
        shapes = {
            "commonness": ((len(phrases), len(titles)), "float32"),
            "links_in": ((len(titles), len(titles)), "bool"),
        }
        specs = {"keyphrase": ArraySpec("float32", (len(phrases),), least=0, most=1)}
        for name, (shape, dtype) in shapes.items():
            specs |= csr_specs(*shape, [f"{name}/{part}" for part in CSR_PARTS], dtype)
        arrays = saved.arrays(specs)

        def matrix(name: str) -> sparse.csr_array:
            indptr, indices, data = (arrays[f"{name}/{part}"] for part in CSR_PARTS)
            return sparse.csr_array((data, indices, indptr), shape=shapes[name][0])

        links, common = matrix("links_in"), matrix("commonness")
        return cls(titles, phrases, common, arrays["keyphrase"], links, facts["language"])


def _one_language(names: pl.DataFrame, path: Path) -> str:
    languages = sorted(names["language"].fill_null("en").unique())
    if len(languages) != 1:
        raise BadInput(
            f"{path}: documents in {', '.join(languages)}; a concept base has one language. "
            "Ingest each language by itself."
        )
    return str(languages[0])


def _links_in(collection: Collection, rows: dict[str, int]) -> sparse.csr_array:
    sources, targets = [], []
    for part in collection.ends(LINK) if LINK in collection.relations else ():
        for source, target in part.select("source", "target").iter_rows():
            if source in rows and target in rows:
                sources.append(rows[source])
                targets.append(rows[target])
    cells = np.array(targets, np.int64), np.array(sources, np.int64)
    linked: Any = (np.ones(len(sources), np.bool_), cells)
    return sparse.csr_array(linked, shape=(len(rows), len(rows)))


def _named(
    collection: Collection, rows: dict[str, int], titles: list[str], language: str
) -> dict[str, set[int]]:
    """Return phrase -> rows of the pages that it is a name of, by the alphabet."""
    named: dict[str, set[int]] = {}

    def add(name: str, row: int) -> None:
        words = tokenize(name, language)
        if 0 < len(words) <= LONGEST:
            named.setdefault(" ".join(words), set()).add(row)

    for row, title in enumerate(titles):
        add(title, row)
        add(_PARENTHESES.sub("", title), row)
    names = [collection.redirects.select("text", "target").collect()]
    if ANCHOR in collection.relations:
        parts = collection.relation(ANCHOR)
        anchors = pl.scan_parquet(parts, glob=False).select("text", "target").unique()
        names.append(anchors.collect())
    for frame in names:
        for text, target in frame.iter_rows():
            if target in rows:
                add(text, rows[target])
    return dict(sorted(named.items()))


def _counted(
    collection: Collection,
    rows: dict[str, int],
    named: dict[str, set[int]],
    links_in: sparse.csr_array,
    language: str,
    progress: Progress | None,
) -> tuple[sparse.csr_array, Int64, Int64]:
    """Count, for each phrase and concept, the pages that have one and link to the other.

    With it come, for each phrase, the pages that have it and are none of its concepts, and those of
    them that link to one.
    """
    finder = Phrases({phrase: number for number, phrase in enumerate(named)})
    concepts = list(named.values())
    links = sparse.csr_array(links_in.T)
    having, linking = np.zeros(len(named), np.int64), np.zeros(len(named), np.int64)
    pairs: list[tuple[int, int]] = []
    for count, (id, text) in enumerate(_texts(collection)):
        row = rows[id]
        targets = set(links.indices[links.indptr[row] : links.indptr[row + 1]].tolist())
        for number in finder.every(tokenize(text, language)):
            if row in concepts[number]:
                continue
            common = concepts[number] & targets
            having[number] += 1
            linking[number] += bool(common)
            pairs += [(number, concept) for concept in common]
        if progress is not None and count % 200 == 0:
            progress(count / len(rows), f"{count:,} of {len(rows):,} pages")
    cells = np.array(pairs, np.int64).reshape(-1, 2).T
    shape = (len(named), len(rows))
    counts = sparse.coo_array((np.ones(len(pairs)), (cells[0], cells[1])), shape=shape)
    return sparse.csr_array(counts), having, linking


def _texts(collection: Collection) -> Iterator[tuple[str, str]]:
    for part in collection.parts("documents"):
        for block in files.read_strings([part], "id", "text").iter_slices(1024):
            yield from block.select("id", "text").iter_rows()
