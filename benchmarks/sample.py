"""What a person types at the sample encyclopedia: fifty queries, and what the first answers are.

    python -m benchmarks.sample                  # measure
    python -m benchmarks.sample --drawn-by 7     # measure with others, drawn by another seed

A query is a word for a thing, and the answer is the page on that thing, whose title is another
word for it. Concepts, words, number (singular or plural) and adjectives are drawn from the lexicon
by a seed. The queries in ``sample.tsv`` were drawn by 34 from the lexicon of that time, before the
sample was made as it is now; nothing was chosen on them.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import ssi_core as ssi
from ssi_core.collection import ANCHOR, open_collection
from ssi_core.face.fit import search_model, search_task
from ssi_core.face.index import Index
from ssi_core.models.bm25f import Bm25F
from ssi_core.sample.encyclopedia import plan_world
from ssi_core.sample.lexicon import load_lexicon
from ssi_core.sample.own import ARTICLES, LINKS, write_own
from ssi_core.serving.neighbours import neighbours

QUERIES = Path(__file__).with_suffix(".tsv")
DOCUMENTS, SEED = 2000, 0
"""Sample of the demo."""
BUDGET = 300_000
_COUNT = 50
_FIRST, _RELATED = 3, 5


def draw(seed: int) -> pl.DataFrame:
    """Draw ``query`` and ``title``, the page that answers it."""
    world = plan_world(DOCUMENTS, SEED)
    rng = np.random.default_rng(seed)
    concepts = [
        concept
        for number, concept in enumerate(world.lexicon.concepts)
        if len(concept.english) > 1 and world.article_of[number] >= 0
    ]
    rows = []
    for n in sorted(rng.choice(len(concepts), _COUNT, replace=False).tolist()):
        title, *others = concepts[n].english
        noun = others[rng.integers(len(others))]
        adjective = world.lexicon.general["adjective"][rng.integers(50)][0]
        plural, described = rng.random(2) < 0.5
        word = noun.plural if plural else noun.singular
        query = f"{adjective} {word}" if described else word
        rows.append({"query": query, "title": title.singular.capitalize()})
    return pl.DataFrame(rows)


def queries() -> pl.DataFrame:
    """Return the queries that are kept: ``query`` and ``title``."""
    return pl.read_csv(QUERIES, separator="\t")


def first_titles(index: Index, texts: Sequence[str]) -> list[list[str]]:
    """Return the titles of the first answers to each text."""
    return [[hit.title for hit in index.search(text, k=_FIRST).hits] for text in texts]


def success(answers: Sequence[Sequence[str]], titles: Sequence[str], k: int) -> float:
    """Return the share of queries with the page that is meant among the first ``k`` answers."""
    found = [title in shown[:k] for shown, title in zip(answers, titles, strict=True)]
    return float(np.mean(found))


@cache
def subjects() -> Mapping[str, int]:
    """Return the subject of each word for a thing."""
    return {
        word: concept.subject
        for concept in load_lexicon().concepts
        for noun in concept.english
        for word in (noun.singular, noun.plural)
    }


def on_subject(answers: Sequence[Sequence[str]], titles: Sequence[str]) -> float:
    """Return the share of the first answers whose title says a thing of the same subject."""
    same = [
        subjects()[title.lower()]
        in {subjects().get(w) for w in re.findall("[a-z]+", shown.lower())}
        for title, several in zip(titles, answers, strict=True)
        for shown in several
    ]
    return sum(same) / (_FIRST * len(titles))


def linked(documents: ssi.Documents, budget: int = BUDGET) -> ssi.Ranker:
    """Return ``U'V + I`` with the settings of the demo's table, learnt from links."""
    settings: dict[str, Any] = {
        "view": "raw",
        "dimensions": 50,
        "margin": 0.2,
        "init_std": 0.02,
        "rates": [0.02],
    }
    model = ssi.Ranker("bilinear", **settings, epoch=50_000, patience=4, budget=budget)
    return model.fit(ssi.Task.of(documents, "link", fields=("text",)))


def related_on_subject(model: ssi.Ranker, texts: Sequence[str]) -> float:
    """Return the share of the words nearest to the last one of each text that share its subject."""
    words = [text.split()[-1] for text in texts]
    nearest = [neighbours(model.fitted_, word, _RELATED) for word in words]
    same = [
        subjects().get(near.word) == subjects()[word]
        for word, several in zip(words, nearest, strict=True)
        for near in several
    ]
    return float(np.mean(same))


def as_table(documents: ssi.Documents) -> ssi.Documents:
    """Return what ``ssi data sample own`` writes: no redirects, headings nor addresses."""
    anchors = open_collection(documents.path).frame(f"relations/{ANCHOR}")
    with tempfile.TemporaryDirectory() as path:
        write_own(Path(path), documents.frame, documents.links, anchors)
        return ssi.read(Path(path) / ARTICLES, links=Path(path) / LINKS)


def rows(documents: ssi.Documents, budget: int = BUDGET) -> Iterator[tuple[str, Index]]:
    """Yield BM25, tuned BM25F and the search box of the demo; the same of the table."""
    for kind, docs in (("dump", documents), ("table", as_table(documents))):
        task = search_task(docs)
        bm25f = ssi.Ranker("bm25f", **vars(Bm25F.tuned(measure="mrr"))).fit(task)
        yield f"{kind}: BM25", ssi.BM25().fit(task).index(docs)
        yield f"{kind}: BM25F", bm25f.index(docs)
        box, label = search_model(docs, budget=budget)
        yield f"{kind}: search box ({label})", box.index(docs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sample", description=__doc__)
    parser.add_argument("--drawn-by", type=int, help="seed of other queries")
    parser.add_argument("--show", action="store_true", help="print the first answers, too")
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    given = parser.parse_args()
    documents = ssi.read_sample(given.documents, SEED)
    asked = queries() if given.drawn_by is None else draw(given.drawn_by)
    asked = asked.filter(pl.col("title").is_in(documents.frame["title"].to_list()))
    titles = asked["title"].to_list()
    print(f"{len(asked)} queries; row: success@1, success@3, on the subject@3")
    share = related_on_subject(linked(documents), asked["query"].to_list())
    print(f"U'V + I: {share:.2f} of the {_RELATED} nearest words on the subject")
    for name, index in rows(documents):
        answers = first_titles(index, asked["query"].to_list())
        figures = [success(answers, titles, k) for k in (1, _FIRST)]
        figures.append(on_subject(answers, titles))
        print(f"{name}: " + ", ".join(f"{figure:.2f}" for figure in figures), flush=True)
        for row, shown in zip(asked.iter_rows(), answers, strict=True):
            if given.show:
                print(f"  {row[0]} -> {row[1]}: {', '.join(shown)}")


if __name__ == "__main__":
    main()
