"""Concepts of a wiki: phrases, commonness, keyphrase probability, relatedness."""

import numpy as np
import polars as pl
import pytest

from ssi_core.arrays import CSR_PARTS, ArraySpec, csr_specs
from ssi_core.collection import ANCHOR, COUNTED, REDIRECT, relation_writer
from ssi_core.guests.summary.concepts import ConceptBase
from ssi_core.guests.summary.relatedness import relatedness
from ssi_core.types import BadInput, Refused
from tests.guests.summary import made, naive
from tests.seals import accepted


@pytest.fixture(scope="module")
def wiki(tmp_path_factory):
    return made.collection(tmp_path_factory.mktemp("wiki") / "collection")


@pytest.fixture(scope="module")
def base(wiki):
    return ConceptBase.of(wiki)


def test_pages_that_are_read_are_told(wiki):
    said = []
    ConceptBase.of(wiki, progress=lambda *step: said.append(step))
    assert (0.0, f"0 of {len(made.PAGES)} pages") in said


def titles(base, text, least=0.05):
    return [base.titles[row] for row in base.wikify(text.lower().split(), least)]


def keyphrase(base, phrase):
    return base.keyphrase[base.phrases.index(phrase)]


def test_the_longest_phrase_counts_and_stands_for_its_most_common_concept(base):
    assert titles(base, "from kyoto the kyoto protocol") == ["Kyoto", "Kyoto Protocol"]
    # Of three pages that say "mercury" and link to one so called, two mean the planet.
    assert titles(base, "mercury mercury") == ["Mercury (planet)"]
    row = base.phrases.index("mercury")
    shares = base.commonness[[row]].toarray()[0]
    assert shares[[4, 5]] == pytest.approx([2 / 3, 1 / 3])
    assert titles(base, "nothing here") == []


def test_a_word_that_is_seldom_meant_is_no_concept(base):
    # Four pages have the word, the page of that title not counted; one of them links to it.
    assert keyphrase(base, "position") == pytest.approx(1 / 4)
    assert titles(base, "position", 0.25) == ["Position"]
    assert titles(base, "position", 0.26) == []
    assert keyphrase(base, "kyoto protocol") == 1
    # Kyoto is in five other pages: two mean the city.
    assert keyphrase(base, "kyoto") == pytest.approx(2 / 5)
    # No page with the title links to it.
    assert "travel" not in base.phrases


def test_redirects_and_words_of_links_are_phrases(wiki, tmp_path):
    place = made.collection(tmp_path / "collection")
    with relation_writer(place, REDIRECT, {"text": pl.String()}) as writer:
        writer.write(pl.DataFrame({"source": ["99"], "target": ["1"], "text": ["Coal and oil"]}))
    with relation_writer(place, ANCHOR, COUNTED) as writer:
        columns = {"source": ["0"], "target": ["3"], "text": ["world"], "weight": [1.0]}
        writer.write(pl.DataFrame(columns))
    base = ConceptBase.of(place)
    assert titles(base, "the world") == ["Kyoto"]
    # The one page with these words is the concept itself.
    assert "coal and oil" not in base.phrases


@pytest.mark.parametrize("confidence", [0.0, 0.3, 0.6])
def test_relatedness_is_that_of_the_definition(base, confidence):
    linking = {row: set() for row in range(len(base.titles))}
    for source, target in made.LINKS:
        linking[int(target)].add(int(source))
    some = np.array([0, 1, 2, 3, 4, 5, 9])
    found = relatedness(base.links_in, some, confidence).toarray()
    for i, one in enumerate(some):
        for j, other in enumerate(some):
            value = naive.wlm(linking, one, other, len(base.titles))
            expected = value if i == j or value > confidence else 0.0
            assert found[i, j] == pytest.approx(expected), (one, other)
    assert found[0, 1] > found[0, 3] == 0


def test_a_base_is_kept_without_a_pickle(base, tmp_path):
    base.save(tmp_path / "concepts")
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".pkl", ".pickle")]
    kept = ConceptBase.load(tmp_path / "concepts")
    assert (kept.titles, kept.phrases, kept.language) == (base.titles, base.phrases, "en")
    assert (kept.commonness != base.commonness).nnz == 0
    assert (kept.links_in != base.links_in).nnz == 0
    assert np.array_equal(kept.keyphrase, base.keyphrase)
    base.save(tmp_path / "concepts")
    with (tmp_path / "concepts" / "strings.json").open("a") as file:
        file.write(" ")
    with pytest.raises(BadInput, match="ssi rank summary concepts"):
        ConceptBase.load(tmp_path / "concepts")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(Refused):
        base.save(tmp_path / "mine")


@pytest.mark.hostile("resealed directories")
def test_arrays_that_are_not_those_of_concepts_are_refused(base, tmp_path):
    base.save(tmp_path / "concepts")
    phrases, titles = len(base.phrases), len(base.titles)
    specs = {"keyphrase": ArraySpec("float32", (phrases,), least=0, most=1)}
    for name, rows, dtype in (("commonness", phrases, "float32"), ("links_in", titles, "bool")):
        specs |= csr_specs(rows, titles, [f"{name}/{part}" for part in CSR_PARTS], dtype)
    assert not accepted(tmp_path / "concepts", "concepts.json", ConceptBase.load, specs)


def test_what_gives_no_concepts_is_refused(wiki, tmp_path):
    import ssi_core as ssi

    plain = ssi.read(["one text", "another text"], out=tmp_path / "plain").path
    with pytest.raises(BadInput, match="no links between documents"):
        ConceptBase.of(plain)
    unnamed = {"id": ["0", "1"], "title": ["Car", "Moon"], "text": ["a b", "c d"]}
    unnamed = ssi.read(unnamed, links=[("0", "1")], out=tmp_path / "unnamed").path
    with pytest.raises(BadInput, match="no text has the title"):
        ConceptBase.of(unnamed)
    with pytest.raises(BadInput):
        ConceptBase.load(wiki)
