"""A retriever: queries of PyTerrier in, documents of an index out."""

from __future__ import annotations

from typing import Any

import polars as pl

from ssi_core.extras import module
from ssi_core.face.index import Index
from ssi_core.types import BadInput

pt = module("pyterrier", "pyterrier")


class Retriever(pt.Transformer):  # type: ignore[misc, name-defined]
    """The documents that an index finds for each query, as a transformer of PyTerrier.

    It takes part in pipelines and in ``pt.Experiment``, and needs no Java.

    Parameters
    ----------
    index : Index
        Documents under a model, as the method ``index`` of a ranker or of `fit` makes them.
    k : int, optional
        Number of documents of a query at most.

    Raises
    ------
    BadInput
        ``k`` is below 1, or no index came.
    Refused
        PyTerrier is not installed.
    """

    def __init__(self, index: Index, k: int = 1000) -> None:
        super().__init__()
        if not isinstance(index, Index):
            raise BadInput(
                f"index: a {type(index).__name__}, expected an Index, which a ranker makes of its "
                "documents: model.index(documents)"
            )
        if k < 1:
            raise BadInput(f"k={k}: expected at least 1")
        self.index, self.k = index, k

    def transform(self, queries: Any) -> Any:
        """Return the rows of each query with columns docno, score and rank, the best first.

        Parameters
        ----------
        queries : DataFrame of pandas
            Columns qid and query, and any others, which are kept.

        Raises
        ------
        pyterrier.validate.InputValidationError
            A column is missing, or documents have been found already.
        """
        pt.validate.query_frame(queries, extra_columns=["query"], context=self)
        answers = self.index.search([str(text) for text in queries["query"]], self.k)
        found = [
            (row, hit.id, hit.score, rank)
            for row, hits in enumerate(answers)
            for rank, hit in enumerate(hits)
        ]
        kinds = {"row": pl.Int64, "docno": pl.String, "score": pl.Float64, "rank": pl.Int64}
        columns = pl.DataFrame(found, kinds, orient="row").to_dict(as_series=False)
        rows = queries.iloc[columns.pop("row")].reset_index(drop=True)
        return rows.assign(**columns)

    def __repr__(self) -> str:
        return f"Retriever({self.index!r}, k={self.k})"
