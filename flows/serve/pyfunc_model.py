"""The model as MLflow serves it: raw text in, ranked titles and scores out.

MLflow runs this file when it loads a model that was logged with ``python_model=`` its path,
``code_paths=`` the folder ``ssi_core``, and the directory of `FittedModel.save` as the artifact
``model``. Its ``index`` (`build_index`) lies beside it. Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

K = 10
SEALED = "sealed.json"
"""Manifest of all that MLflow keeps of a model, its code with it; the index comes later."""


def signature() -> Any:
    """Return the signature: a column ``query``; a row of five lists per query; ``k``."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import Array

    lists = dict.fromkeys(("ids", "titles", "urls", "snippets"), DataType.string)
    lists["scores"] = DataType.double
    return ModelSignature(
        inputs=Schema([ColSpec(DataType.string, "query")]),
        outputs=Schema([ColSpec(Array(kind), name) for name, kind in lists.items()]),
        params=ParamSchema([ParamSpec("k", DataType.long, K)]),
    )


def check_sealed(path: Path) -> None:
    """Compare a model of MLflow with its manifest.

    Raises
    ------
    BadInput
        A file, or the manifest, is not as it was written.
    """
    from ssi_core import integrity

    again = "Restore a backup (ssi ops restore), or train the row again."
    integrity.open_sealed(path, SEALED, "model of MLflow", again)


class RankedSearch(PythonModel):  # type: ignore[misc]
    """The searcher behind MLflow's ``predict``."""

    def load_context(self, context: Any) -> None:
        """Open the model and its index, memory mapped."""
        from ssi_core.serving.searcher import open_searcher
        from ssi_core.types import BadInput

        model = Path(context.artifacts["model"])
        check_sealed(model.parents[1])
        try:
            self._searcher = open_searcher(model)
        except BadInput as error:
            raise BadInput(
                f"{error} A run gets its index when it is first searched (ssi search RUN TEXT) or "
                "promoted (ssi ops promote RUN)."
            ) from error

    # A hint such as list[str] would replace the signature, and then ``k`` is dropped.
    def predict(
        self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        """Rank the documents for each query.

        Parameters
        ----------
        model_input : DataFrame
            A frame with a column ``query``, a mapping with that key, or texts.
        params : dict or None
            ``k``, the number of documents.

        Returns
        -------
        DataFrame
            A row per query: ``ids``, ``titles``, ``urls``, ``snippets``, ``scores``, each a list,
            best first. Lists are empty for a query without a known word, and texts are empty if
            an address or a text is not known.
        """
        k = int((params or {}).get("k", K))
        answers = self._searcher.search(texts_of(model_input), k)
        return pd.DataFrame(
            {
                "ids": [[hit.id for hit in answer.hits] for answer in answers],
                "titles": [[hit.title for hit in answer.hits] for answer in answers],
                "urls": [[hit.url or "" for hit in answer.hits] for answer in answers],
                "snippets": [[hit.snippet or "" for hit in answer.hits] for answer in answers],
                "scores": [[hit.score for hit in answer.hits] for answer in answers],
            }
        )


def texts_of(given: Any) -> list[str]:
    """Return the queries of whatever MLflow hands over; ValueError says what is expected."""
    if isinstance(given, pd.DataFrame | Mapping):
        if "query" not in given:
            raise ValueError(f"model_input has {list(given)}, expected a column 'query'")
        given = given["query"]
    if isinstance(given, str):
        given = [given]
    texts = list(given)
    wrong = [text for text in texts if not isinstance(text, str)]
    if wrong:
        raise ValueError(f"model_input holds {wrong[0]!r}, expected texts")
    return texts


set_model(RankedSearch())
