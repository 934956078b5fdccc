"""Builder of task directories, one for every kind of relevance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ssi_core import store
from ssi_core.arrays import load_csr
from ssi_core.collection import DOCUMENTS, Collection, PartWriter, open_collection
from ssi_core.parts import LOCAL
from ssi_core.remedies import offers, typed
from ssi_core.tasks import kinds
from ssi_core.tasks.auxiliary import write_auxiliary_pairs, write_auxiliary_queries
from ssi_core.tasks.clicks import counted_rows, weights_of, write_clicks
from ssi_core.tasks.cost import require_features
from ssi_core.tasks.fields import write_fields, write_phrases
from ssi_core.tasks.frozen import KIND
from ssi_core.tasks.goals import write_goals
from ssi_core.tasks.judged import write_judged
from ssi_core.tasks.keywords import write_keyword_queries
from ssi_core.tasks.kinds import no_links
from ssi_core.tasks.layout import MATRICES, RAW
from ssi_core.tasks.links import write_links
from ssi_core.tasks.names import (
    write_anchored,
    write_anchors,
    write_name_queries,
    write_self,
)
from ssi_core.tasks.queries import MATRICES as QUERY_MATRICES
from ssi_core.tasks.reading import language_of, texts_of
from ssi_core.tasks.spec import TaskSpec, spec_of
from ssi_core.tasks.task_builder import Reading, TaskBuilder
from ssi_core.tasks.texts import write_texts, write_two_sided
from ssi_core.tasks.translations import write_rewritten, write_translations
from ssi_core.types import BadInput, Progress
from ssi_core.views.correlated import write_hashed_views
from ssi_core.views.counting import matrix_path
from ssi_core.views.names import COUNTS
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting

_PAIRS: Mapping[str, Callable[[TaskBuilder], Reading]] = {
    kinds.LINK: write_links,
    kinds.TRANSLATION: write_translations,
    kinds.LINK_OF_TRANSLATION: write_translations,
    kinds.CLICK: write_clicks,
    kinds.JUDGEMENT: Reading.of_all,
    kinds.ANCHOR: write_anchors,
    kinds.SELF: write_self,
}
"""Steps that write the pairs of each kind of relevance; judgements come after the texts."""


def build_task(
    collection_path: Path,
    out: Path | None = None,
    *,
    spec: TaskSpec | None = None,
    translations: Path | None = None,
    frozen: Sequence[Path] = (),
    force: bool = False,
    progress: Progress | None = None,
    where: str = LOCAL,
    **fields: Any,
) -> store.Artefact:
    """Make the task directory of a collection, or find it up to date.

    Parameters
    ----------
    collection_path : Path
        Directory of the collection.
    out : Path or None
        Directory of the task; None: one of the store.
    spec : TaskSpec or None
        What the task is; None: that of ``fields``.
    translations : Path or None
        Parquet of ``id`` and ``text``: queries in the language of the documents, for views
        ``translated.WEIGHTING``.
    frozen : sequence of Path
        Frozen sets, whose answers are on no side but that of the test.
    force : bool
        Replace another artefact at ``out``.
    progress : Progress or None
        Told how far the work is.
    where : str
        Where words are counted, and DICE of hashed views, see `ssi_core.parts`.
    **fields
        Fields of `TaskSpec`.

    Raises
    ------
    BadInput
        The collection lacks what the spec names, has too few pairs for three sides, or no word
        that tells its texts apart.
    Refused
        Another artefact is at ``out``, or another process is writing it; or memory or disk is too
        small.
    ValueError
        A field is none; the message lists what there is.
    """
    spec = spec_of(**fields) if spec is None else spec
    collection = open_collection(collection_path)
    _require_relation(collection, spec)
    if frozen and spec.relevant in (kinds.ANCHOR, kinds.SELF):
        raise BadInput(
            f"{frozen[0]}: no pair of a frozen set is one of a name and its document. Leave it out "
            f"({typed('frozen')}), or take links."
        )
    settings = spec.configuration()
    if spec.relevant == kinds.CLICK:
        settings["weights"] = weights_of(collection)
    if translations is not None:
        settings["translations"] = store.digest_file(translations)
    parents = {"collection": collection.key}
    parents |= {f"frozen_{n}": store.read(path, KIND).key for n, path in enumerate(frozen)}
    make = partial(
        _write_task,
        collection=collection,
        spec=spec,
        translations=translations,
        frozen=frozen,
        progress=progress or _quiet,
        where=where,
    )
    return store.open_or_make("task", settings, parents, make, out=out, force=force)


def _quiet(fraction: float, message: str) -> None:
    pass


def _require_relation(collection: Collection, spec: TaskSpec) -> None:
    if spec.tests_judged and kinds.JUDGEMENT not in collection.relevant:
        unknown = collection.artefact.skipped.get("judgement_unknown_document", 0)
        lacks = f" ({unknown:,} are of documents that it lacks)" if unknown else ""
        how = "leave out --judged" if offers("--judged") else typed("ranked", "pool")
        raise BadInput(
            f"{collection.path}: it has no judgements to test by{lacks}. Take what is clicked as "
            f"the test ({how}), or ingest the log with judgements."
        )
    if collection.artefact.counts.get("documents") == 0:
        raise BadInput(f"{collection.path}: it has no documents. Ingest some that have a text.")
    names = ", ".join(map(repr, collection.relevant)) or "no relation"
    if spec.relevant == kinds.LINK and not collection.relevant:
        raise BadInput(f"{collection.path}: {no_links()}")
    if spec.relevant not in (*collection.relevant, kinds.SELF):
        raise BadInput(
            f"{collection.path}: nothing there says which documents are relevant by "
            f"{spec.relevant!r}; it has {names}. "
            f"Name one of these ({typed('relevant')}), or ingest texts with such a relation."
        )
    for kind in spec.auxiliary:
        if kinds.relation_of(kind) not in (*collection.relevant, kinds.SELF):
            raise BadInput(
                f"{collection.path}: auxiliary={kind!r} needs the relation "
                f"{kinds.relation_of(kind)!r}; it has {names}. Leave it out, or ingest "
                "texts with such a relation."
            )


def _write_task(
    building: store.Building,
    collection: Collection,
    spec: TaskSpec,
    translations: Path | None,
    frozen: Sequence[Path],
    progress: Progress,
    where: str,
) -> None:
    manifest = collection.artefact.counts
    clicked = spec.relevant == kinds.CLICK
    require_features(
        [part for side in collection.sides for part in collection.parts(side)],
        building.path.parent,
        documents=sum(manifest.get(side, 0) for side in collection.sides),
        links=counted_rows(collection) if clicked else manifest.get("links", 0),
        views=len(spec.views),
        all_words=spec.words == "all",
        names=_names(spec, manifest, anchored=_has_anchors(spec, collection)),
    )
    documents = collection.names("documents")
    if documents.is_empty():
        raise BadInput(f"{collection.path}: it has no documents. Ingest some that have a text.")
    queries = documents
    if collection.has_queries and spec.relevant not in kinds.OF_DOCUMENTS:
        queries = collection.names("queries")
    for texts in (documents, queries):
        language_of(collection.path, texts["language"])
    builder = TaskBuilder(collection, spec, frozen, building, progress, documents, queries, where)
    reading = _PAIRS[spec.relevant](builder)
    if _has_anchors(spec, collection):
        write_anchored(builder)
    auxiliary_names = write_auxiliary_pairs(builder)
    _link_texts(builder)
    if spec.has_fields:
        write_fields(builder)
    query_view, view = write_texts(builder, reading)
    if spec.has_fields and not spec.asks_documents and query_view is view:
        builder.counts["phrases"] = write_phrases(builder.path, view)
    _write_queries(builder, reading, query_view, view, translations)
    write_auxiliary_queries(builder, auxiliary_names, view)
    if spec.hashings:
        builder.counts["hashed"] = write_hashed_views(
            builder.path,
            builder.path / MATRICES,
            spec.hashings,
            view,
            texts=lambda: texts_of(collection),
            fitting=reading.documents,
            queries=None if spec.query_words is None else builder.path / QUERY_MATRICES,
            progress=progress,
            blocks=None if where == LOCAL else building.work("dice"),
            where=where,
        )


def _has_anchors(spec: TaskSpec, collection: Collection) -> bool:
    """Tell whether links are looked for, whose wordings are known."""
    return spec.kind == kinds.LINK and kinds.ANCHOR in collection.relevant


def _names(spec: TaskSpec, manifest: Mapping[str, int], *, anchored: bool) -> int:
    """Return how many names of documents are read."""
    titles = manifest.get("documents", 0) + manifest.get("redirects_resolved", 0)
    numbers = {kinds.TITLES: titles, kinds.ANCHORS: manifest.get("anchors", 0)}
    read = {*spec.kinds, *([kinds.ANCHORS] if anchored else [])}
    return sum(numbers.get(kind, 0) for kind in read)


def _link_texts(builder: TaskBuilder) -> None:
    """Give the documents' files a second name in the task, whose index shows what they say."""
    with PartWriter(builder.path / RAW, DOCUMENTS) as texts:
        texts.link_all(builder.collection.parts("documents"))


def _write_queries(
    builder: TaskBuilder, reading: Reading, query_view: TextView, view: TextView, given: Path | None
) -> None:
    """Write queries that are made of other texts, or are read in the words of the documents."""
    spec, weightings = builder.spec, [Weighting(COUNTS), *builder.spec.weightings]
    if spec.relevant == kinds.JUDGEMENT:
        builder.counts["judged"] = write_judged(builder, view)
    elif reading.names is not None:
        write_name_queries(builder, builder.path, reading.names, view)
    elif reading.goals is not None:
        write_goals(builder.path, builder.documents, reading.goals, view.statistics, weightings)
    elif spec.query_words is not None:
        builder.counts["keywords"] = write_keyword_queries(
            builder.path,
            builder.documents.select("id", "title"),
            load_csr(matrix_path(builder.path / MATRICES, COUNTS)),
            view.statistics,
            weightings,
            words=spec.query_words,
            draws=spec.query_draws,
            seed=spec.split_seed,
            known=spec.relevant == kinds.SELF,
        )
    elif spec.rewritings:
        assert reading.kept is not None
        write_rewritten(builder, reading.kept, query_view, view, given)
    elif builder.same:
        write_two_sided(builder, builder.path, view)
