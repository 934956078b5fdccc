from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from ssi_core import store
from ssi_core.arrays import ArraySpec
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.searcher import Searcher
from ssi_core.types import BadInput, Refused
from tests.robust.tally import attempt
from tests.seals import accepted, reseal
from tests.serving.models import TITLES, documents, random_models, views

MODELS = random_models(seed=0)
NAMES = [f"{m.model.name}-{n}" for n, m in enumerate(MODELS)]


@pytest.mark.parametrize("fitted", MODELS, ids=NAMES)
@pytest.mark.parametrize("block", [4, 1000])
def test_index_holds_the_vectors_of_all_documents(fitted, block, tmp_path):
    texts = documents(fitted.document_views)
    build_index(fitted, texts, tmp_path / "i", parents={"task": "t"}, block=block)
    index = open_index(tmp_path / "i")
    expected = fitted.embed_documents(texts)
    assert index.titles.to_list() == list(TITLES)
    assert (index.vectors.sparse is None) == (expected.sparse is None)
    assert (index.vectors.dense is None) == (expected.dense is None)
    if expected.sparse is not None:
        np.testing.assert_array_equal(index.vectors.sparse.toarray(), expected.sparse.toarray())
    if expected.dense is not None:
        np.testing.assert_allclose(index.vectors.dense, expected.dense, rtol=1e-6)
    for name in fitted.document_views:
        np.testing.assert_array_equal(index.words[name].toarray(), texts.matrix(name).toarray())


@pytest.mark.parametrize("fitted", MODELS, ids=NAMES)
def test_rows_that_are_the_vectors_are_written_once(fitted, tmp_path):
    texts = documents(fitted.document_views)
    build_index(fitted, texts, tmp_path / "i", parents={"task": "t"})
    index, vectors = open_index(tmp_path / "i"), fitted.embed_documents(texts)
    for name in fitted.document_views:
        rows = texts.matrix(name)
        same = (
            vectors.sparse is not None
            and rows.shape == vectors.sparse.shape
            and np.array_equal(rows.toarray(), vectors.sparse.toarray())
        )
        assert (tmp_path / "i" / "words" / name.replace(":", "-")).exists() == (not same)
        assert (index.words[name] is index.vectors.sparse) == same


def test_index_is_kept_for_the_same_parents_and_refused_for_others(tmp_path):
    fitted = MODELS[0]
    texts = documents(fitted.document_views)
    first = build_index(fitted, texts, tmp_path / "i", parents={"task": "t"})
    assert build_index(fitted, texts, tmp_path / "i", parents={"task": "t"}).key == first.key
    with pytest.raises(Refused, match="Remove it, or name another directory"):
        build_index(fitted, texts, tmp_path / "i", parents={"task": "u"})
    forced = build_index(fitted, texts, tmp_path / "i", parents={"task": "u"}, force=True)
    assert forced.key != first.key


def test_index_is_memory_mapped_and_leaves_the_words_out_on_request(tmp_path):
    fitted = next(m for m in MODELS if m.model.name == "lsi")
    many = documents(fitted.document_views, ["car moon"] * 50)
    build_index(fitted, many, tmp_path / "i", parents={"task": "t"}, words=False)
    index = open_index(tmp_path / "i")
    assert isinstance(index.vectors.dense, np.memmap)
    assert not (tmp_path / "i" / "words").exists()
    assert index.words == {}


@pytest.mark.parametrize("fitted", MODELS, ids=NAMES)
def test_float16_rounds_the_dense_part_alone_in_half_of_its_bytes(fitted, tmp_path):
    texts = documents(fitted.document_views)
    for storage in ("float32", "float16"):
        build_index(fitted, texts, tmp_path / storage, parents={"task": "t"}, storage=storage)
    one, half = open_index(tmp_path / "float32"), open_index(tmp_path / "float16")
    assert one.artefact.key != half.artefact.key
    if one.vectors.sparse is not None:
        same = one.vectors.sparse.toarray(), half.vectors.sparse.toarray()
        np.testing.assert_array_equal(*same)
    if one.vectors.dense is not None:
        assert isinstance(half.vectors.dense, np.memmap)
        assert half.vectors.dense.nbytes == one.vectors.dense.nbytes // 2
        rounded = one.vectors.dense.astype(np.float16)
        np.testing.assert_array_equal(half.vectors.dense, rounded)


def test_an_index_of_float32_says_what_it_said_before_there_was_a_choice(tmp_path):
    fitted = MODELS[0]
    made = build_index(fitted, documents(fitted.document_views), tmp_path / "i", parents={})
    assert "storage" not in made.configuration


def test_numbers_that_float16_does_not_have_are_refused(tmp_path):
    fitted = next(m for m in MODELS if m.model.name == "bilinear" and m.model.form == "low_rank")
    arrays = {name: array * np.float32(1e6) for name, array in fitted.arrays.items()}
    large = replace(fitted, arrays=arrays)
    texts = documents(large.document_views)
    build_index(large, texts, tmp_path / "i", parents={})
    with pytest.raises(BadInput, match="float32"):
        build_index(large, texts, tmp_path / "half", parents={}, storage="float16")


def test_documents_are_found_by_id_then_by_title(tmp_path):
    fitted = MODELS[0]
    build_index(fitted, documents(fitted.document_views), tmp_path / "i", parents={"task": "t"})
    searcher = Searcher(fitted, open_index(tmp_path / "i"))
    assert searcher.find("d1") == (0, 1)
    assert searcher.find("Wheels") == (0, 5)
    with pytest.raises(BadInput, match=r"Titles near it: 'Automobile'\."):
        searcher.find("automobiles")
    with pytest.raises(BadInput, match=r"'rockt'\. Titles near it: 'Rocket car'"):
        searcher.find("rockt")
    with pytest.raises(BadInput, match="A search lists titles"):
        searcher.find("zzz")


def test_vocabularies_of_equal_size_are_told_apart(tmp_path):
    fitted = MODELS[0]
    build_index(fitted, documents(fitted.document_views), tmp_path / "i", parents={"task": "t"})
    other = views("raw", words=("auto", *fitted.document_views["raw"].words[1:]))
    with pytest.raises(BadInput, match="other words"):
        open_index(tmp_path / "i").check(replace(fitted, document_views={"raw": other["raw"]}))


@pytest.mark.hostile("resealed directories")
@pytest.mark.parametrize("fitted", MODELS, ids=NAMES)
def test_arrays_that_are_not_those_of_an_index_are_refused(fitted, tmp_path):
    """The digests are made right again each time."""
    path, texts = tmp_path / "i", tmp_path / "texts.parquet"
    columns = {name: TITLES for name in ("id", "title", "text", "url")}
    pl.DataFrame(columns).write_parquet(texts)
    build_index(fitted, documents(fitted.document_views), path, parents={}, texts=[texts])
    files = sorted(path.rglob("*.npy"))
    assert len(files) >= 3
    specs = {str(f.relative_to(path).with_suffix("")): _spec(f, len(TITLES)) for f in files}
    assert not accepted(path, store.MANIFEST, open_index, specs)
    assert len(Searcher(fitted, open_index(path)).search(["car"], 3)) == 1


def _spec(file, documents):
    """Return the declaration of a file, with the columns of matrices."""
    if file.name in ("indptr.npy", "starts.npy"):
        return ArraySpec("int32|int64", (documents,), offsets=len(np.load(file)))
    if file.name == "indices.npy":
        return ArraySpec("int32|int64", ("entries",), index="columns")
    if file.name == "packed.npy":
        return ArraySpec("uint8", ("bytes",))
    rows = documents if file.name == "dense.npy" else "entries"
    return ArraySpec("float32|float16" if file.name == "dense.npy" else "float32", (rows,))


@pytest.mark.hostile("resealed directories")
@pytest.mark.parametrize("part", ["dense.npy", "sparse/shape.json", "words/raw/shape.json"])
def test_vectors_of_another_width_than_the_models_are_refused(part, tmp_path):
    name = "lsi_mixture" if part != "sparse/shape.json" else "tfidf"
    fitted = next(one for one in MODELS if one.model.name == name)
    place = tmp_path / "i"
    build_index(fitted, documents(fitted.document_views), place, parents={})
    file = place / part
    if file.suffix == ".npy":
        np.save(file, np.load(file)[:, :-1].copy())
    else:
        rows, columns = json.loads(file.read_text())
        file.write_text(json.dumps([rows, columns + 1]))
    reseal(place)
    message = r"other widths .* Build the index with this model"
    with pytest.raises(BadInput, match=message), attempt():
        Searcher(fitted, open_index(place))


def test_nothing_to_index_is_bad_input(tmp_path):
    fitted = MODELS[0]
    nothing = documents(fitted.document_views).take(slice(0, 0))
    with pytest.raises(BadInput, match="no documents"):
        build_index(fitted, nothing, tmp_path / "i", parents={"task": "t"})
