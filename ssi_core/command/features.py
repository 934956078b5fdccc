"""The verb ``features``: a task of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ssi_core.command.data import artefact_outcome
from ssi_core.command.verb import Outcome, progress, verb

if TYPE_CHECKING:
    from ssi_core.tasks.settings import FeaturesSettings


@verb(
    "ssi_core.tasks.settings:FeaturesSettings",
    examples=(
        "ssi data features corpus --out task",
        "ssi data features corpus --out task --words all --split documents",
        "ssi data features corpus --out task --views counts,raw,sublinear:100",
        "ssi data features corpus --words all --fields text,title,headings,url,anchors",
        "ssi data features corpus --out task --queries-from words:10",
        "ssi data features cranfield --out task --words all",
        "ssi data features cranfield --out task --pool 10000",
        "ssi data features corpus --words all --views raw,cfh:k=5,words=30000,ngrams=1",
        'ssi data features kyoto --relevant "translation > link" --views sublinear,dictionary.raw',
        "ssi data features clicks --split users --vocabularies two",
        "ssi data features corpus --relevant anchor",
        "ssi data features corpus --auxiliary titles,words:3,link:3",
    ),
)
def features(given: FeaturesSettings) -> Outcome:
    """Turn a collection into a task: word matrices and splits.

    A task has queries, documents that are relevant to each of them, and three parts: training,
    validation and test. The vocabulary and the weights of words come from the collection. A
    collection with translations needs --relevant.

    Judged queries are ranked over all documents. For other queries, 10,000 documents of a larger
    corpus are drawn once for all queries, as in the paper; --pool N draws N, and --pool 0 takes
    all.
    """
    from ssi_core.tasks.task import build_task

    with progress("features") as on_progress:
        artefact = build_task(
            Path(given.corpus),
            Path(given.out) if given.out else None,
            spec=given.spec,
            translations=Path(given.translations) if given.translations else None,
            frozen=[Path(frozen) for frozen in given.frozen],
            force=given.force,
            progress=on_progress,
            where=given.where,
        )
    return artefact_outcome(artefact)
