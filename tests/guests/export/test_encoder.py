"""The encoder of an export, in Python and in JavaScript, against the model itself."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ssi_core as ssi
from ssi_core.guests.export import encoder as shipped
from ssi_core.guests.export.encoding import FILE, bodies_of, write_encoder
from ssi_core.guests.export.exporting import encoder_of
from ssi_core.guests.export.parts import parts_of
from ssi_core.guests.export.terms import layout_of
from ssi_core.registry import TARGETS
from ssi_core.serving.searcher import texts_of
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput
from tests.guests.export.models import random_models
from tests.robust.tally import attempt
from tests.serving.models import random_models as other_models

NODE = shutil.which("node")
TEXTS = (
    "",
    "nothing known",
    "music1 Music1, MUSIC2; common3/common3 common4_the",
    "ｍｕｓｉｃ3 moon３ İcommon5 ﬁlm² Straße ΣΊΣΥΦΟΣ e\u0301 \U0001d4dc\U0001d4ee!",
    "music1 " * 500 + " ".join(f"music{i} common{i}" for i in range(25)),
)
MODELS = tuple(name for name in (
    "TF-IDF", "BM25", "BM25F", "language model", "in-degree", "D", "U'V", "U'U + I", "U'V + I",
    "U'V + alpha I", "U'V + alpha BM25", "U'V + alpha lm", "U'V + D", "LSI", "LSI + TF-IDF",
    "softmax", "CL-LSI", "BM25 + U'V", "BM25F + U'V", "TF-IDF + D", "BM25 + in-degree",
))  # fmt: skip


def written(path, fitted, target="opensearch"):
    path.mkdir()
    bodies = bodies_of(TARGETS[target].bodies, layout_of(fitted))
    write_encoder(path, fitted, parts_of(fitted), bodies)
    return path / FILE


def test_all_models_are_tried(models):
    assert set(MODELS) == set(models)


@pytest.mark.parametrize("name", MODELS)
def test_a_query_has_the_weights_of_the_model(models, tmp_path, name):
    fitted = models[name]
    encoder = shipped.Encoder(written(tmp_path / "export", fitted))
    vectors = fitted.embed_queries(texts_of(TEXTS, fitted.query_views))
    if "BM25F" in name:
        assert any("+" in encoder.names[place] for place in encoder.vectors(TEXTS[2])[0])

    assert encoder.names == list(layout_of(fitted).words)
    for row, text in enumerate(TEXTS):
        places, latent = encoder.vectors(text)
        if vectors.sparse is not None:
            dense = np.zeros(len(encoder.names))
            dense[list(places)] = list(places.values())
            assert dense == pytest.approx(vectors.sparse[[row]].toarray()[0], rel=1e-6, abs=1e-6)
        if vectors.dense is not None:
            size = max(1.0, float(np.abs(vectors.dense[row]).max()))
            assert latent == pytest.approx(vectors.dense[row], abs=1e-6 * size)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["U'V + D", "U'V", "D"])
def test_the_encoder_of_a_model_in_memory_makes_the_same_searches(models, tmp_path, name, target):
    fitted = models[name]
    encoder = shipped.Encoder(written(tmp_path / "export", fitted, target))
    for body in encoder.model["bodies"]:
        for text in TEXTS:
            ours = encoder_of(fitted, target).query(text, 7, body)
            assert close(encoder.query(text, 7, body), ours)


def close(one, other):
    """Tell whether two searches are equal, but for the last digits of their numbers."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float):
        return other == pytest.approx(one, rel=1e-4, abs=1e-5)
    return one == other


def test_an_encoded_query_is_within_the_bounds_of_lucene(models, tmp_path):
    fitted = models["U'V + D"]
    encoder = shipped.Encoder(written(tmp_path / "export", fitted, "lucene"))
    terms = encoder.query(TEXTS[-1])

    assert min(terms.values()) > 0
    assert max(terms.values()) <= 64
    assert any(term.startswith("m_") for term in terms)


def test_words_are_those_of_the_tokenizer_in_every_script():
    letters = [chr(i) for i in range(0x20, 0x30000) if unicodedata.category(chr(i))[0] != "C"]
    random.Random(0).shuffle(letters)
    text = "".join(
        letter + random.Random(i).choice(["", "", " "]) for i, letter in enumerate(letters)
    )
    assert list(shipped.tokenize(text)) == tokenize(text)


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """Write the encoder of a model whose texts have letters that its rule reads as others."""
    rows = [{"id": n, "text": f"İzmir{n % 3} شكرًا שָׁלוֹם word{n % 5}"} for n in range(30)]
    docs = ssi.read(rows, links=[(n, (n + 5) % 30) for n in range(30)], language="any")
    fitted = ssi.TfIdf().fit(ssi.Task.of(docs)).fitted_
    return written(tmp_path_factory.mktemp("marked") / "export", fitted)


MARKED = "İZMİR1 شُكرا שלום İzmir2"


def test_letters_are_read_as_the_rule_of_any_language_reads_them(marked):
    encoder = shipped.Encoder(marked)
    found = {encoder.names[place] for place in encoder.vectors(MARKED)[0]}
    assert {"izmir1", "izmir2"} <= found <= {"izmir1", "izmir2", "شكرا", "שלום"}


@pytest.mark.skipif(NODE is None, reason="node is not installed: encoder.js is not run")
def test_javascript_reads_letters_as_the_rule_of_any_language_does(marked):
    run = (
        "const {Encoder} = require(process.argv[1]);"
        "const encoder = new Encoder(require('fs').readFileSync(process.argv[2], 'utf8'));"
        "console.log(JSON.stringify([...encoder.vectors(process.argv[3])[0].keys()]));"
    )
    places = json.loads(in_node(run, marked.parent / "encoder.js", marked, MARKED))
    assert places == list(shipped.Encoder(marked).vectors(MARKED)[0])


@pytest.mark.parametrize("name", ["U'V + D", "BM25 + U'V", "BM25F + U'V", "LSI + TF-IDF"])
@pytest.mark.skipif(NODE is None, reason="node is not installed: encoder.js is not run")
def test_javascript_makes_the_same_searches(models, tmp_path, name):
    path = written(tmp_path / "export", models[name])
    ours = shipped.Encoder(path)
    asked = [(text, body) for text in TEXTS for body in ours.model["bodies"]]
    run = (
        "const {Encoder} = require(process.argv[1]);"
        "const read = (file) => require('fs').readFileSync(file, 'utf8');"
        "const encoder = new Encoder(read(process.argv[2]));"
        "const asked = JSON.parse(read(process.argv[3]));"
        "console.log(JSON.stringify(asked.map(([t, b]) => encoder.query(t, 7, b))));"
    )
    (tmp_path / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    arguments = [path.parent / "encoder.js", path, tmp_path / "asked.json"]
    theirs = json.loads(in_node(run, *arguments))

    for (text, body), found in zip(asked, theirs, strict=True):
        assert close(ours.query(text, 7, body), as_floats(found))


def as_floats(value):
    """JSON of JavaScript has no 1.0: make every number that is a weight a float."""
    if isinstance(value, dict):
        return {k: v if k in ("size", "window_size") else as_floats(v) for k, v in value.items()}
    if isinstance(value, list):
        return [as_floats(v) for v in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.skipif(NODE is None, reason="node is not installed: encoder.js is not run")
def test_javascript_splits_words_alike_in_every_script(tmp_path):
    # Letters that the Unicode of this Python has: node may know more.
    letters = [chr(i) for i in range(0x20, 0x30000) if unicodedata.category(chr(i))[0] != "C"]
    random.Random(1).shuffle(letters)
    text = " ".join("".join(letters[i : i + 7]) for i in range(0, len(letters), 7))
    (tmp_path / "text.txt").write_text(text, encoding="utf-8", newline="")
    run = (
        "const {tokenize} = require(process.argv[1]);"
        "const text = require('fs').readFileSync(process.argv[2], 'utf8');"
        "console.log(JSON.stringify(tokenize(text)));"
    )
    source = Path(shipped.__file__).with_suffix(".js")
    words = json.loads(in_node(run, source, tmp_path / "text.txt"))
    assert words == tokenize(text)


@pytest.mark.skipif(NODE is None, reason="node is not installed: encoder.js is not run")
def test_javascript_has_the_digests_of_hashlib(tmp_path):
    random_bytes = random.Random(2).randbytes
    lengths = [*range(130), 1000, 100_003]
    texts = [random_bytes(n) for n in lengths]
    (tmp_path / "texts.json").write_text(json.dumps([list(text) for text in texts]))
    run = (
        "const {sha256} = require(process.argv[1]);"
        "const texts = JSON.parse(require('fs').readFileSync(process.argv[2], 'utf8'));"
        "console.log(JSON.stringify(texts.map((text) => sha256(Uint8Array.from(text)))));"
    )
    source = Path(shipped.__file__).with_suffix(".js")
    found = json.loads(in_node(run, source, tmp_path / "texts.json"))
    assert found == [hashlib.sha256(text).hexdigest() for text in texts]


FLIPS = int(os.environ.get("SSI_FLIPS", "60"))


def flipped(content, count, seed):
    """Yield copies of some bytes with one bit flipped."""
    draw = random.Random(seed)
    for _ in range(count):
        spoiled = bytearray(content)
        spoiled[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        yield bytes(spoiled)


@pytest.mark.hostile("exports")
def test_a_flipped_bit_is_noticed_in_python(models, tmp_path):
    path = written(tmp_path / "export", models["U'V + D"])
    content = path.read_bytes()
    changes = [*flipped(content, FLIPS, 0), content[:-1], content + b" ", b"", b"{}"]
    for spoiled in changes:
        path.write_bytes(spoiled)
        message = r"encoder.json: it was changed .*ssi export"
        with pytest.raises(ValueError, match=message), attempt(refusals=ValueError):
            shipped.Encoder(path)
    run = [sys.executable, path.parent / "encoder.py", path, "music1"]
    answer = subprocess.run(run, capture_output=True, text=True)
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"{path}: it was changed")
    path.write_bytes(content)
    assert subprocess.run(run, capture_output=True, check=True).stdout


@pytest.mark.hostile("exports")
@pytest.mark.skipif(NODE is None, reason="node is not installed: encoder.js is not run")
def test_a_flipped_bit_is_noticed_in_javascript(models, tmp_path):
    path = written(tmp_path / "export", models["U'V + D"])
    content = path.read_bytes()
    for number, spoiled in enumerate([content, *flipped(content, FLIPS, 1), b"", b"{}"]):
        (tmp_path / f"{number}.json").write_bytes(spoiled)
    run = (
        "const {Encoder} = require(process.argv[1]);"
        "const seen = process.argv.slice(2).map((file) => {"
        "  try { new Encoder(require('fs').readFileSync(file, 'utf8')); return ''; }"
        "  catch (error) { return error.message; }"
        "});"
        "console.log(JSON.stringify(seen));"
    )
    files = [tmp_path / f"{number}.json" for number in range(FLIPS + 3)]
    with attempt():
        first, *others = json.loads(in_node(run, path.parent / "encoder.js", *files))
    assert first == ""
    assert all("it was changed after it was written" in message for message in others)


BM25 = {"kind": "bm25", "cut": None, "words": 3, "most": [1.1, 4.4, 2.2]}
"""A view whose rows of queries are counts over the most that BM25 gives for them."""


def test_a_query_of_bm25_is_its_counts_over_their_most():
    assert shipped.weigh({2: 1, 1: 3}, BM25) == {
        1: pytest.approx(3 / (2.2 * (3 * 2.0 + 1.0))),
        2: pytest.approx(1 / (2.2 * (3 * 2.0 + 1.0))),
    }
    assert shipped.weigh({}, BM25) == {}


@pytest.mark.skipif(NODE is None, reason="node is not installed: encoder.js is not run")
def test_javascript_weighs_bm25_alike():
    run = (
        "const {weigh} = require(process.argv[1]);"
        "const counts = new Map([[2, 1], [1, 3]]);"
        "console.log(JSON.stringify(weigh(counts, JSON.parse(process.argv[2]))));"
    )
    rows = json.loads(in_node(run, Path(shipped.__file__).with_suffix(".js"), json.dumps(BM25)))
    assert dict(rows) == pytest.approx(shipped.weigh({2: 1, 1: 3}, BM25))


def in_node(program, *arguments):
    command = [NODE, "-e", program, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_the_program_needs_no_package(models, tmp_path):
    path = written(tmp_path / "export", models["U'V + I"])
    command = [sys.executable, "-I", "-S", path.parent / "encoder.py", path, TEXTS[2], "3"]
    out = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")

    assert json.loads(out.stdout) == shipped.Encoder(path).query(TEXTS[2], 3)


def test_a_query_that_is_more_than_its_words_has_no_encoder():
    expansion = next(one for one in other_models(0) if one.model.name == "query_expansion")
    with pytest.raises(BadInput, match="words alone"):
        parts_of(expansion)


def test_a_language_without_blanks_has_no_encoder(task):
    fitted = random_models(task)["TF-IDF"]
    view = fitted.query_views["sublinear:10"]
    views = {view.name: replace(view, language="zh")}
    with pytest.raises(BadInput, match="'zh'"):
        parts_of(type(fitted)(fitted.model, fitted.arrays, views, views))
