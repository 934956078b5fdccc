"""Readers of QMSum and Debatepedia."""

import gzip
import io
import json
import tarfile

import pytest

from ssi_core.guests.summary.questions import read_questions
from ssi_core.types import BadInput
from tests.datasets.dumps import real_data


def meeting(*utterances, answer="They spoke."):
    return {
        "general_query_list": [{"query": "Summarize the meeting", "answer": answer}],
        "specific_query_list": [{"query": "What about cars?", "answer": answer}],
        "meeting_transcripts": [{"speaker": "A", "content": one} for one in utterances],
    }


def write_meetings(place, **sides):
    for side, meetings in sides.items():
        (place / side).mkdir(parents=True)
        for name, one in meetings.items():
            (place / side / f"{name}.json").write_text(json.dumps(one))
    return place


def write_lines(path, name="valid", **columns):
    path.mkdir(exist_ok=True)
    for column, lines in columns.items():
        text = "".join(f"<s> {line} <eos>\n" for line in lines)
        (path / f"{name}_{column}.txt.gz").write_bytes(gzip.compress(text.encode()))
    return path


def test_meetings_are_read_from_a_folder_and_an_archive(tmp_path):
    sides = {"train": {"m1": meeting("Hello {vocalsound} there .")}, "val": {"m2": meeting("Bye")}}
    folder = write_meetings(tmp_path / "QMSum", **sides)
    questions = read_questions(folder)
    assert [(one.group, one.chooses) for one in questions] == [
        ("m1", True), ("m1", True), ("m2", False), ("m2", False)
    ]  # fmt: skip
    assert questions[0].texts == ("Hello there .",)
    assert questions[1].query == "What about cars?"
    archive = tmp_path / "QMSum.tar.gz"
    with tarfile.open(archive, "w:gz") as written:
        written.add(folder, "QMSum")
    assert sorted(map(str, read_questions(archive))) == sorted(map(str, questions))


def test_every_second_document_chooses(tmp_path):
    columns = {"query": ["a ?", "b ?", "c ?"], "content": ["x .", "y .", "x ."]}
    questions = read_questions(write_lines(tmp_path, **columns, summary=["u", "v", "w"]))
    assert [(one.group, one.chooses) for one in questions] == [
        ("0", True), ("1", False), ("0", True)
    ]  # fmt: skip
    assert (questions[1].query, questions[1].texts, questions[1].summary) == ("b ?", ("y .",), "v")


def test_what_is_malformed_is_named(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        read_questions(tmp_path / "nothing")
    (tmp_path / "other").mkdir()
    with pytest.raises(BadInput, match="QMSum or the folder of Debatepedia"):
        read_questions(tmp_path / "other")
    place = write_meetings(tmp_path / "q", train={"m": {"general_query_list": []}})
    with pytest.raises(BadInput, match=r"train/m\.json.*meeting_transcripts"):
        read_questions(place)
    lines = write_lines(tmp_path / "d", query=["a", "b"], content=["x"], summary=["u", "v"])
    with pytest.raises(BadInput, match="2 of valid_query, 1 of valid_content"):
        read_questions(lines)
    (tmp_path / "d" / "valid_query.txt.gz").write_bytes(b"no gzip")
    with pytest.raises(BadInput, match="valid_query"):
        read_questions(lines)
    with tarfile.open(tmp_path / "broken.tar", "w") as archive:
        info = tarfile.TarInfo("QMSum/val/m.json")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"{,}"))
    with pytest.raises(BadInput, match="is no meeting"):
        read_questions(tmp_path / "broken.tar")


def test_the_published_files_have_their_counts():
    meetings = read_questions(real_data("qmsum", "QMSum_train_val.tar.gz"))
    assert (len(meetings), sum(one.chooses for one in meetings)) == (1529, 1257)
    assert len({one.group for one in meetings}) == 197
    debates = read_questions(real_data("debatepedia", ""))
    assert len(debates) == 719
