"""The measure of the training queries that a ranker climbs."""

from __future__ import annotations

from ssi_core.guests.reranking.measures import measure_named


def require_measure(setting: str, measure: str) -> None:
    """Refuse a measure that is not known; the message names the setting that it is a value of.

    >>> require_measure("optimise", "ndcg")
    Traceback (most recent call last):
    ValueError: optimise='ndcg'; expected letor_map, letor_mean_ndcg, letor_p_at_K or letor_ndcg_at_K
    """  # noqa: E501
    try:
        measure_named(measure)
    except ValueError as error:
        raise ValueError(f"{setting}{str(error).removeprefix('measure')}") from None
