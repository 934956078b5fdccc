import gzip
import io
import tarfile

import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.types import BadInput
from tests.datasets.dumps import accounts, real_data
from tests.sources import ingest

TEXT = "   #copyright\n\n{}\n\n2007 Schools Wikipedia Selection. Related\nsubjects: X\n\n   {}\n"


LINKS = "A\tB\nA\tB\nB\tA\nA\tA\nA\t%C3%89\nDonation\tA\nA\tDonation\n"


NAMES = ["A", "B", "%C3%89", "Donation"]


def release(directory, texts=None, links=LINKS, member="plaintext_articles/{}.txt", names=NAMES):
    directory.mkdir(exist_ok=True)
    texts = texts or {"A": "about a", "B": "about b", "%C3%89": "about a"}
    with tarfile.open(directory / "articles_plaintext.tar.xz", "w:xz") as archive:
        for name, text in texts.items():
            data = TEXT.format("T", text).encode()
            info = tarfile.TarInfo(member.format(name))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    with gzip.open(directory / "articles.tsv.gz", "wt") as file:
        file.write("# comment\n\n" + "".join(f"{name}\n" for name in names))
    with gzip.open(directory / "links.tsv.gz", "wt") as file:
        file.write("# comment\n\n" + links)
    return directory


def test_a_small_release(tmp_path):
    made = ingest("wikispeedia", release(tmp_path / "in"), tmp_path / "out")
    accounts(made)
    corpus = open_collection(tmp_path / "out")
    documents = corpus.documents.collect()
    assert documents["id"].to_list() == ["A", "B"]
    assert documents["text"].to_list() == ["T\n\nabout a", "T\n\nabout b"]
    assert corpus.links.collect().rows() == [("A", "B"), ("B", "A")]
    assert made.counts["links_found"] == 7
    assert {name: n for name, n in made.skipped.items() if n} == {
        "page_duplicate": 1, "page_without_text": 1, "link_duplicate": 1, "link_self": 2,
        "link_missing_page": 1, "link_from_missing_page": 1,
    }  # fmt: skip
    assert ingest("wikispeedia", tmp_path / "in", tmp_path / "out") == made


def test_categories_are_labels_of_what_is_a_document(tmp_path):
    source = release(tmp_path / "in")
    lines = "# comment\n\nA\tsubject.Art.Painters\nA\tsubject.Art\nA\tsubject.Everyday_life.X\n"
    with gzip.open(source / "categories.tsv.gz", "wt") as file:
        file.write(lines + "Donation\tsubject.Art\n")  # which has no text
    made = ingest("wikispeedia", source, tmp_path / "out")
    labels = pl.read_parquet(made.path / "labels" / "*.parquet")
    assert labels.rows() == [("A", "category", "Art"), ("A", "category", "Everyday life")]
    # Without the file there are none, and the corpus is another one.
    (source / "categories.tsv.gz").unlink()
    assert ingest("wikispeedia", source, tmp_path / "plain").key != made.key
    assert not (tmp_path / "plain" / "labels").exists()
    for wrong in ("Art", "subject"):
        with gzip.open(source / "categories.tsv.gz", "wt") as file:
            file.write(f"A\t{wrong}\n")
        with pytest.raises(BadInput, match=f"'{wrong}' does not begin with 'subject"):
            ingest("wikispeedia", source, tmp_path / "bad")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"member": "plaintext_articles/../../{}.txt"}, "isn't a file"),
        ({"member": "/plaintext_articles/{}.txt"}, "isn't a file"),
        ({"texts": {"Unknown": "x"}}, "isn't in articles.tsv.gz"),
        ({"links": "A\tB\tC\n"}, "line 3 has 3 columns"),
    ],
)
def test_files_of_another_form(tmp_path, change, message):
    with pytest.raises(BadInput, match=message):
        ingest("wikispeedia", release(tmp_path / "in", **change), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_published_release(tmp_path):
    made = ingest("wikispeedia", real_data("wikispeedia"), tmp_path / "out")
    accounts(made)
    # 4,598 texts; 8 of them are another one once more, under a second name.
    assert made.counts["pages"] == 4604
    assert made.skipped["page_without_text"] == 6
    assert made.counts["documents"] + made.skipped["page_duplicate"] == 4598
    assert made.counts["documents"] == 4590
    assert made.counts["links_found"] == 119_882
    assert made.skipped["link_self"] == 110
    assert made.counts["links"] == 119_588
    documents = open_collection(made.path).documents.collect()
    assert "Édouard Manet" in documents["title"].to_list()
    assert not documents["text"].str.contains("#copyright").any()
