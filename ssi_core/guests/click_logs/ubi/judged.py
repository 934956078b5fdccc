"""Judgement lists and query sets, as OpenSearch's Search Relevance Workbench takes and keeps them.

A list has a ``name`` and ``judgmentRatings``: objects with a ``query`` and its ``ratings``, each of
them a ``docId`` and a ``rating``, a number on any scale. A query set has a ``name`` and
``querySetQueries``, objects with a ``queryText``. A query is its wording, as in UBI.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from ssi_core import collection
from ssi_core.corpus.judged.judgements import account, kept_judgements, write_relation
from ssi_core.corpus.texts import id_of
from ssi_core.store import Building

_LIST, _SET = "judgmentRatings", "querySetQueries"
_LABEL = "query_set"
_RATED = {"query": pl.String, "document": pl.String, "grade": pl.Float64}


@dataclass
class UbiJudged:
    """Ratings and the queries of sets, over all files.

    Attributes
    ----------
    words : dict
        Wording of a query, by its id.
    skipped : Counter
        Ratings and queries that are left out, by reason.
    """

    words: dict[str, str] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    _ratings: list[tuple[str, str, float]] = field(default_factory=list)
    _sets: list[tuple[str, str, str]] = field(default_factory=list)

    def take(self, one: Mapping[str, Any]) -> bool:
        """Take a judgement list or a query set; tell whether it is one."""
        if _LIST not in one and _SET not in one:
            return False
        for entry in _entries(one, _LIST):
            query = self._query(entry.get("query"))
            for rating in _entries(entry, "ratings"):
                document, number = one_line(rating.get("docId")), _number(rating.get("rating"))
                if query and document and number is not None:
                    self._ratings.append((query, document, number))
                else:
                    self.skipped["rating_incomplete"] += 1
        for entry in _entries(one, _SET):
            if query := self._query(entry.get("queryText")):
                self._sets.append((query, _LABEL, one_line(one.get("name")) or "unnamed"))
        return True

    def _query(self, value: Any) -> str | None:
        """Return the id of a query; None where it has no words."""
        text = one_line(value)
        if text is None:
            self.skipped["judged_query_without_text"] += 1
            return None
        query = id_of(text)
        self.words[query] = text
        return query

    def write(self, building: Building) -> bool:
        """Write judgements of known documents, and the set of a query as its label.

        Returns
        -------
        whether a document is relevant; else there is no relation
        """
        building.skipped.update(sorted(self.skipped.items()))
        if self._sets:
            labels = pl.DataFrame(self._sets, schema=list(collection.LABELS), orient="row")
            with collection.label_writer(building.path, "queries") as writer:
                writer.write(labels.unique(maintain_order=True))
            building.counts["queries_of_sets"] = labels["id"].n_unique()
        rated = pl.DataFrame(self._ratings, schema=_RATED, orient="row")
        if rated.is_empty():
            return False
        kept, skipped = kept_judgements(building.path, list(self.words), rated)
        account(building, kept, skipped)
        has_relevant = not kept.filter(pl.col("grade") > 0).is_empty()
        if has_relevant:
            write_relation(building, kept)
        return has_relevant


def _entries(one: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list inside an object."""
    entries = one.get(name)
    return [e for e in entries if isinstance(e, Mapping)] if isinstance(entries, list) else []


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def one_line(value: Any) -> str | None:
    """Return a value as text on one line; None for nothing."""
    if value is None:
        return None
    words = (value if type(value) is str else str(value)).split()
    return words[0] if len(words) == 1 else " ".join(words) or None
