"""The directory of an export, for every target: what engines read, and what is refused."""

import json

import numpy as np
import pytest
from scipy import sparse

from ssi_core import store
from ssi_core.guests.export.documents import Documents, of_index
from ssi_core.guests.export.encoder import Encoder
from ssi_core.guests.export.exporting import Settings, export_model
from ssi_core.guests.export.nine_bits import codes
from ssi_core.guests.export.terms import Bounds, Layout, document_terms, layout_of
from ssi_core.guests.export.writing import Material
from ssi_core.models import MODELS
from ssi_core.models.base import FittedModel
from ssi_core.registry import TARGETS
from ssi_core.scoring.vectors import Inner
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.searcher import texts_of
from ssi_core.types import BadInput, Refused


def documents_of(fitted, texts, key="documents"):
    """Documents of `Texts`, embedded when they are asked for."""

    def vectors(rows):
        return fitted.embed_documents(texts.take(rows))

    return Documents(texts.ids, texts.titles, key, vectors)


def exported(models, task, out, to="opensearch", name="U'V + D", **more):
    settings = Settings(to, **{k: more.pop(k) for k in ("margin", "expand") if k in more})
    fitted = models[name]
    documents = more.pop("documents", None) or documents_of(fitted, task.documents)
    return export_model(fitted, documents, out, settings, model=name, **more)


def lines(directory):
    files = sorted(directory.iterdir())
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_gets_its_files_its_encoder_and_bounds(models, task, tmp_path, target):
    artefact = exported(models, task, tmp_path / "out", target)

    assert artefact.counts["documents"] == len(task.documents)
    assert artefact.counts["bytes"] > 0
    assert {"bounds.json", "encoder.json", "encoder.py", "encoder.js"} <= {
        file.name for file in (tmp_path / "out").iterdir()
    }
    assert Encoder(tmp_path / "out" / "encoder.json").query("music1 common2")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["U'V", "D"])
def test_a_model_of_one_part_is_exported_too(models, task, tmp_path, target, name):
    if (target, name) == ("faiss", "D"):
        with pytest.raises(BadInput, match="no latent vectors"):
            exported(models, task, tmp_path / "out", target, name)
        return
    exported(models, task, tmp_path / "out", target, name)
    wanted = Encoder(tmp_path / "out" / "encoder.json").query("music1 common2")
    assert "$" not in json.dumps(wanted)


@pytest.mark.parametrize("target", ["opensearch", "elasticsearch"])
def test_bulk_files_have_an_action_and_a_document_in_turn(models, task, tmp_path, target):
    fitted = models["U'V + D"]
    exported(models, task, tmp_path / "out", target)
    rows = [json.loads(line) for line in lines(tmp_path / "out" / "bulk")]
    mapping = json.loads((tmp_path / "out" / "index.json").read_text())["mappings"]["properties"]
    vectors = fitted.embed_documents(task.documents)
    layout = layout_of(fitted)
    terms, _ = document_terms(vectors, layout, Bounds.of([vectors], layout, 0.1))

    assert [row["index"]["_id"] for row in rows[::2]] == task.documents.ids.to_list()
    for number, row in enumerate(rows[1::2]):
        assert row.keys() == mapping.keys()
        columns = dict(zip(layout.names, range(len(layout.names)), strict=True))
        assert sorted(columns[term] for term in row["ssi"]) == terms[[number]].indices.tolist()
        weights = np.array([row["ssi"][layout.names[i]] for i in terms[[number]].indices])
        # What a feature field keeps of the weight that it reads.
        kept = weights.astype(np.float32).view(np.uint32) >> 15
        assert np.array_equal(kept, codes(terms[[number]].data))
        assert not any("." in term for term in row["ssi"])


def test_files_are_small_enough_for_one_request(models, task, tmp_path, monkeypatch):
    monkeypatch.setattr("ssi_core.guests.export.writing.write_lines.__defaults__", (50_000,))
    exported(models, task, tmp_path / "out")
    sizes = [file.stat().st_size for file in (tmp_path / "out" / "bulk").iterdir()]

    assert len(sizes) > 5
    assert max(sizes) <= 50_000


def test_vespa_gets_a_schema_of_the_width_of_the_model(models, task, tmp_path):
    exported(models, task, tmp_path / "out", "vespa")
    schema = (tmp_path / "out" / "application" / "schemas" / "ssi.sd").read_text()
    row = json.loads(lines(tmp_path / "out" / "feed")[0])

    assert "tensor<float>(x[12])" in schema
    assert schema.count("{") == schema.count("}")
    assert row["put"] == "id:ssi:ssi::d0"
    assert len(row["fields"]["latent"]) == 12
    assert set(row["fields"]["words"]) <= set(task.documents.views["raw"].words)


def test_vectors_as_text_have_the_score_of_the_model(models, task, tmp_path):
    fitted = models["U'V + D"]
    exported(models, task, tmp_path / "out", "trec-vectors")
    query = Encoder(tmp_path / "out" / "encoder.json").query("music1 common2")
    latent = {f"x_{k}": x for k, x in enumerate(query["x"])}
    found = []
    for line in lines(tmp_path / "out" / "vectors"):
        _, _, terms = line.partition("\t")
        weights = dict(term.rsplit(":", 1) for term in terms.split())
        found.append(
            sum(x * float(weights.get(t, 0)) for t, x in (query["words"] | latent).items())
        )
    q = fitted.embed_queries(texts_of(["music1 common2"], fitted.query_views))
    d = fitted.embed_documents(task.documents)
    wanted = (q.sparse @ d.sparse.T).toarray()[0] + (q.dense @ d.dense.T)[0]
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-4)


def test_new_documents_are_exported_with_former_bounds(models, task, tmp_path):
    fitted = models["U'V + D"]
    old, new = task.documents.take(slice(0, 150)), task.documents.take(slice(150, 200))
    exported(models, task, tmp_path / "old", documents=documents_of(fitted, old, "old"))
    more = exported(
        models,
        task,
        tmp_path / "new",
        documents=documents_of(fitted, new, "new"),
        former=tmp_path / "old",
    )
    whole = exported(models, task, tmp_path / "whole")

    assert more.counts["documents"] == 50
    assert {file.name for file in (tmp_path / "new").iterdir()} == {
        "bulk",
        "bounds.json",
        store.MANIFEST,
    }
    assert (tmp_path / "new" / "bounds.json").read_text() == (
        tmp_path / "old" / "bounds.json"
    ).read_text()
    # Random maps have no tails: with a margin nothing is outside, and without it there is.
    assert whole.counts["clipped"] == 0
    exported(models, task, tmp_path / "tight", documents=documents_of(fitted, old, "old"), margin=0)
    tight = exported(
        models,
        task,
        tmp_path / "tight new",
        documents=documents_of(fitted, new, "new"),
        former=tmp_path / "tight",
        margin=0,
    )
    assert tight.counts["clipped"] > more.counts["clipped"]
    assert 0 < tight.counts["clipped_documents"] <= 50


def test_a_former_export_of_another_model_or_kind_is_refused(models, task, tmp_path):
    exported(models, task, tmp_path / "old")
    with pytest.raises(BadInput, match="another model"):
        exported(models, task, tmp_path / "new", name="U'V", former=tmp_path / "old")
    with pytest.raises(BadInput, match="to = 'opensearch'"):
        exported(models, task, tmp_path / "new", to="lucene", former=tmp_path / "old")


def test_an_export_is_found_again_and_another_is_not_written_over_it(models, task, tmp_path):
    first = exported(models, task, tmp_path / "out")
    assert exported(models, task, tmp_path / "out").key == first.key
    with pytest.raises(Refused):
        exported(models, task, tmp_path / "out", name="U'V")


def test_an_id_that_the_engine_refuses_is_named(models, task, tmp_path):
    fitted = models["U'V"]
    texts = task.documents.take(slice(0, 2))
    long = Documents(texts.ids + "x" * 600, texts.titles, "long", fitted.embed_documents)
    with pytest.raises(BadInput, match="602 bytes"):
        exported(models, task, tmp_path / "out", name="U'V", documents=long)


def test_an_id_with_a_line_break_is_named(models, task, tmp_path):
    texts = task.documents.take(slice(0, 2))
    broken = Documents(texts.ids + "\n", texts.titles, "broken", models["U'V"].embed_documents)
    with pytest.raises(BadInput, match=r"'d0\\n'"):
        exported(models, task, tmp_path / "out", name="U'V", documents=broken)


def test_a_term_with_a_dot_is_refused_where_it_is_a_path(tmp_path):
    layout = Layout(("3.14",), np.empty(0, np.int32), 0)
    material = Material(None, layout, None)
    with pytest.raises(BadInput, match=r"'3\.14' have a dot"):
        TARGETS["elasticsearch"].write(tmp_path, material)


def test_a_document_that_weighs_a_word_below_zero_is_refused(models, task):
    fitted = models["D"]
    vectors = fitted.embed_documents(task.documents)
    layout = layout_of(fitted)
    bounds = Bounds.of([vectors], layout, 0.1)
    with pytest.raises(BadInput, match="negative weight"):
        document_terms(Inner(-1 * vectors.sparse, None), layout, bounds)


def test_an_index_gives_the_same_documents(models, task, tmp_path):
    fitted = models["U'V + D"]
    build_index(fitted, task.documents, tmp_path / "index", parents={})
    documents = of_index(fitted, open_index(tmp_path / "index"))
    exported(models, task, tmp_path / "one", documents=documents)
    exported(models, task, tmp_path / "two")

    assert lines(tmp_path / "one" / "bulk") == lines(tmp_path / "two" / "bulk")


def test_expansion_words_are_the_heaviest_of_a_document(models, task, tmp_path):
    fitted = models["U'V + I"]
    artefact = exported(models, task, tmp_path / "out", name="U'V + I", expand=5)
    row = json.loads(lines(tmp_path / "out" / "bulk")[1])["ssi"]
    words = list(fitted.view("sublinear:10", "query").words)
    weights = fitted.embed_documents(task.documents).dense[0] @ fitted.arrays["U"].T
    best = np.argsort(-weights)[:5]

    assert {term for term in row if term.startswith("w_")} == {f"w_{words[i]}" for i in best}
    assert row[f"w_{words[best[0]]}"] == pytest.approx(weights[best[0]], rel=2**-7)
    assert artefact.counts["latent"] == 0
    terms = Encoder(tmp_path / "out" / "encoder.json").query("music1")["query"]["neural_sparse"]
    assert set(terms["ssi"]["query_tokens"]) == {"music1", "w_music1"}


@pytest.mark.parametrize("name", ["BM25", "LSI"])
def test_expansion_words_are_of_models_with_latent_sums(models, task, tmp_path, name):
    with pytest.raises(BadInput, match="expand"):
        exported(models, task, tmp_path / "out", name=name, expand=5)


def test_bm25s_matrix_has_a_column_for_each_term(models, task, tmp_path):
    fitted = models["U'V + D"]
    exported(models, task, tmp_path / "out", "bm25s")
    path = tmp_path / "out" / "index"
    parts = [np.load(path / f"{name}.csc.index.npy") for name in ("data", "indices", "indptr")]
    names = json.loads((path / "vocab.index.json").read_text(encoding="utf-8"))
    matrix = sparse.csc_array(tuple(parts), shape=(len(task.documents), len(names)))

    assert list(names) == layout_of(fitted).names
    assert np.all(np.diff(matrix.indptr)[len(layout_of(fitted).words) :] == len(task.documents))


def test_a_score_that_is_no_sum_over_terms_has_no_export(tmp_path):
    parts = ({"model": "tfidf"}, {"model": "in_degree"})
    fusion = FittedModel(MODELS["fusion"](parts), {}, {}, {})
    with pytest.raises(BadInput, match="'fusion': no export"):
        export_model(fusion, None, tmp_path / "out", Settings("lucene"), model="")
