"""Scores of a fitted model."""

from ssi_core.scoring.scorer import Scorer


def all_scores(fitted, task):
    """Scores of all queries of a task with all of its documents."""
    documents = fitted.embed_documents(task.documents)
    return Scorer(documents).score(fitted.embed_queries(task.queries))
