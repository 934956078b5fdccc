"""The verb that makes documents searchable: index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ssi_core.command.data import artefact_outcome
from ssi_core.command.fields import NEW_DIRECTORY, argument, option
from ssi_core.command.models import directory_of
from ssi_core.command.options import FORCE, TASK
from ssi_core.command.verb import Outcome, progress, verb


@dataclass(frozen=True, kw_only=True)
class IndexSettings:
    """Settings of ``ssi data index``."""

    model: str = argument("MODEL")
    task: Path = TASK
    out: Path = option(..., "Directory to write.", type=NEW_DIRECTORY)
    words: bool = option(
        True,
        "Keep the words of the documents, which 'ssi explain' needs. [default: --with-words]",
        flag="--with-words/--without-words",
    )
    texts: bool = option(
        True,
        "Keep the texts and addresses that results show. [default: --with-texts]",
        flag="--with-texts/--without-texts",
    )
    storage: Literal["float32", "float16"] = option(
        "float32", "Number format of the document vectors. float16 takes half of the bytes."
    )
    force: bool = FORCE


@verb(IndexSettings, examples=("ssi data index runs/abc --task task --out index",))
def index(given: IndexSettings) -> Outcome:
    """Index the documents of a task under a model."""
    from ssi_core.models import load_model
    from ssi_core.serving.cost import require_index
    from ssi_core.serving.index import build_index
    from ssi_core.serving.searcher import model_in
    from ssi_core.store import digest_file
    from ssi_core.tasks.fields import names_of_task
    from ssi_core.tasks.reading import raw_texts
    from ssi_core.tasks.task import open_task

    directory = model_in(directory_of(given.model))
    fitted, opened = load_model(directory), open_task(given.task)
    shown = raw_texts(given.task) if given.texts else []
    require_index(
        fitted, opened.documents, given.out, words=given.words, texts=shown, storage=given.storage
    )
    files = sorted((directory / "arrays").glob("*.npy"))
    parents = {
        "task": opened.key,
        **{file.stem: digest_file(file) for file in (directory / "model.json", *files)},
    }
    with progress("index") as on_progress:
        artefact = build_index(
            fitted,
            opened.documents,
            given.out,
            parents=parents,
            words=given.words,
            texts=shown,
            names=names_of_task(given.task) if given.texts else None,
            storage=given.storage,
            force=given.force,
            progress=on_progress,
        )
    return artefact_outcome(artefact)
