"""Files of LETOR and SVMlight."""

import gzip
import tarfile

import numpy as np
import pytest

from ssi_core.guests.reranking import letor
from ssi_core.guests.reranking.letor import read_folds, read_letor, write_letor
from ssi_core.guests.reranking.score_files import write_run
from ssi_core.types import BadInput
from tests.datasets.dumps import real_data
from tests.guests.reranking import made

LINES = """\
# a comment
2 qid:10 1:0.5 2:1 4:-3e-2 #docid = GX0-1 inc = 1 prob = 0.08
0 qid:10 2:0.25

1 qid:20 1:1 # of no id
"""


def read(tmp_path, text):
    path = tmp_path / "pairs.txt"
    path.write_text(text)
    return read_letor(path)


def test_a_file_is_read(tmp_path):
    features = read(tmp_path, LINES)
    assert features.values.tolist() == [[0.5, 1, 0, -0.03], [0, 0.25, 0, 0], [1, 0, 0, 0]]
    assert features.grade.tolist() == [2, 0, 1]
    assert features.queries.to_list() == ["10", "20"]
    assert features.start.tolist() == [0, 2, 3]
    assert features.documents.to_list() == ["GX0-1", "", "of no id"]
    assert features.names == ("1", "2", "3", "4")


def test_a_packed_or_marked_file_is_read_and_another_form_is_named(tmp_path):
    path = tmp_path / "pairs.txt.gz"
    path.write_bytes(gzip.compress(LINES.encode()))
    assert len(read_letor(path)) == 3
    assert len(read(tmp_path, f"\ufeff{LINES.splitlines()[1]}\n")) == 1
    for data, said in ((LINES.encode("utf-16"), "iconv -f utf-16"), (b"PK\3\4", "a zip archive")):
        path.write_bytes(data)
        with pytest.raises(BadInput, match=said):
            read_letor(path)


def test_a_document_stands_once_in_the_run_of_a_query(tmp_path):
    twice = "".join(f"0 qid:1 1:1 #docid = {name}\n" for name in ("a", "b", "a"))
    write_run(read(tmp_path, twice), np.array([1.0, 2.0, 3.0]), tmp_path / "run", "n")
    lines = [line.split() for line in (tmp_path / "run").read_text().splitlines()]
    assert [line[2:5] for line in lines] == [["a", "1", "3"], ["b", "2", "2"]]


def test_what_is_written_reads_back_as_the_same_values(tmp_path):
    features = made.pairs([3, 1, 4], seed=3)
    features = features.with_values(features.values * 1e-7, ("bm25", "2", "in degree", "4"))
    write_letor(features, tmp_path / "out" / "pairs.txt")
    again = read_letor(tmp_path / "out" / "pairs.txt")
    assert (again.values == features.values).all()
    assert (again.grade == features.grade).all()
    assert again.queries.to_list() == features.queries.to_list()
    assert again.documents.to_list() == features.documents.to_list()
    assert again.start.tolist() == features.start.tolist()
    assert again.names == ("bm25", "2", "in%20degree", "4")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-1 qid:1 1:2", "'-1' is no grade"),
        ("1.5 qid:1 1:2", "'1.5' is no grade"),
        ("99 qid:1 1:2", "'99' is no grade"),
        ("1 1:2", "no query after the grade"),
        ("1 qid: 1:2", "no query after the grade"),
        ("1 qid:1 1", "'1' is no NUMBER:VALUE"),
        ("1 qid:1 1:2:3 2", "'1:2:3' is no NUMBER:VALUE"),
        ("1 qid:1 0:2", "'0' is no number of a feature"),
        ("1 qid:1 9999999:2", "is no number of a feature"),
        ("1 qid:1 a:2", "'a' is no number of a feature"),
        ("1 qid:1 2:1 1:2", "feature 1 stands after 2"),
        ("1 qid:1 2:1 2:2", "feature 2 stands after 2"),
        ("1 qid:1 1:one", "the value 'one' is no number"),
        ("1 qid:1 1:nul", "the value 'nul' is no number. Write NULL where it is missing"),
        ("1 qid:1 1:0 2:inf", "feature 2 is inf. Write a finite number, NULL where"),
        ("1 qid:7 1:1", "query 7 comes again"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, message):
    with pytest.raises(BadInput, match=r"pairs\.txt, line 3: ") as error:
        read(tmp_path, f"0 qid:7 1:1\n0 qid:8 1:1\n{line}\n")
    assert message in str(error.value)


def test_files_without_pairs_and_with_twice_a_name_are_refused(tmp_path):
    with pytest.raises(BadInput, match="no line of a pair"):
        read(tmp_path, "# nothing\n")
    with pytest.raises(BadInput, match="empty"):
        read(tmp_path, "")
    with pytest.raises(BadInput, match="no such file"):
        read_letor(tmp_path / "missing.txt")
    with pytest.raises(BadInput, match="two features have the name 'a'"):
        read(tmp_path, "# feature 1 = a\n# feature 2 = a\n1 qid:1 1:1 2:2\n")


def fold_files(path, sides):
    for name, text in sides.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)


def test_folds_of_a_folder_and_of_an_archive(tmp_path):
    sides = {
        "Fold1/train.txt": "1 qid:1 1:1 3:2\n",
        "Fold1/vali.txt": "0 qid:2 1:1\n",
        "Fold1/test.txt": "2 qid:3 2:1\n",
    }
    fold_files(tmp_path / "MQ", sides)
    (fold,) = read_folds(tmp_path / "MQ")
    assert fold.name == "Fold1"
    assert fold.valid.names == fold.train.names == ("1", "2", "3")
    assert fold.test.values.tolist() == [[0, 1, 0]]
    with tarfile.open(tmp_path / "mq.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "MQ", "MQ")
    (packed,) = read_folds(tmp_path / "mq.tar.xz")
    assert (packed.test.values == fold.test.values).all()
    (tmp_path / "MQ/Fold1/test.txt").write_text("2 qid:1 2:1\n")
    with pytest.raises(BadInput, match="query 1 is on two sides"):
        read_folds(tmp_path / "MQ")
    (tmp_path / "MQ/Fold1/test.txt").unlink()
    with pytest.raises(BadInput, match=r"Fold1/test\.txt is missing"):
        read_folds(tmp_path / "MQ")
    with pytest.raises(BadInput, match="no fold"):
        read_folds(tmp_path / "MQ" / "Fold1")


def test_mq2008_is_read_as_it_is_described(tmp_path):
    folds = read_folds(real_data("letor-mq2008", "MQ2008_folds.tar.xz"))
    sizes = [tuple(len(side) for side in (f.train, f.valid, f.test)) for f in folds]
    assert sizes == [
        (9630, 2707, 2874),
        (9404, 2874, 2933),
        (8643, 2933, 3635),
        (8514, 3635, 3062),
        (9442, 3062, 2707),
    ]
    assert sum(len(fold.test.queries) for fold in folds) == 784
    grades = np.concatenate([fold.test.grade for fold in folds])
    assert np.bincount(grades).tolist() == [12279, 2001, 931]
    assert folds[0].test.names == tuple(str(n) for n in range(1, 47))
    write_letor(folds[0].test, tmp_path / "test.txt")
    again = read_letor(tmp_path / "test.txt")
    assert (again.values == folds[0].test.values).all()
    assert again.documents.equals(folds[0].test.documents)


def test_memory_is_asked_for_the_features_to_the_byte(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(letor.resources, "require", lambda stage, **takes: asked.append(takes))
    assert [read(tmp_path, LINES).values.nbytes] == [takes["memory"] for takes in asked]
