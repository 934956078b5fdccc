"""Logs read night by night give what reading all of them at once gives."""

import gzip
import json
import shutil

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from ssi_core.guests.click_logs import build
from ssi_core.guests.click_logs.rules import Rules
from ssi_core.types import BadInput
from tests.corpora import write_corpus
from tests.guests.click_logs import logs
from tests.seals import reseal

NIGHTS = 3


def read(paths, out, *, since=None, form=None, rules=None, **how):
    shutil.rmtree(out, ignore_errors=True)
    rules = rules or Rules(clicks="all")
    return logs.ingest(paths, form or logs.form(), out, rules=rules, since=since, **how)


def rows_of(artefact):
    found = {}
    tables = ["impressions", "queries", "documents", "relations/click", "lines"]
    tables += ["unclicked"] if (artefact.path / "unclicked").exists() else []
    for table in tables:
        found[table] = pl.read_parquet(artefact.path / table / "part-*.parquet")
    if (artefact.path / "propensities.parquet").exists():
        found["propensities"] = pl.read_parquet(artefact.path / "propensities.parquet")
    if (artefact.path / "quarantine.csv").exists():
        found["quarantine"] = pl.read_csv(artefact.path / "quarantine.csv")
    return found


def assert_same(one, other):
    assert one.key == other.key
    assert {n: c for n, c in one.counts.items() if n != "since"} == other.counts
    assert one.skipped == other.skipped
    assert one.parents == other.parents
    found, wanted = rows_of(one), rows_of(other)
    assert found.keys() == wanted.keys()
    for name, frame in found.items():
        assert_frame_equal(frame, wanted[name], rel_tol=1e-12)


@pytest.fixture
def asked(monkeypatch):
    """Places from which logs were read."""
    places = []
    real = build.read_rows

    def spy(path, columns, form, after, keys):
        places.append((path.name, after.bytes, after.lines))
        return real(path, columns, form, after, keys)

    monkeypatch.setattr(build, "read_rows", spy)
    return places


def nights(rows):
    """Rows in nights: slates go on over midnight, rows come twice and late, some are broken."""
    rows = [dict(row) for row in rows]
    for n, row in enumerate(rows):
        if n % 97 == 5:
            row["rank"] = "first"
        if n % 101 == 7:
            row["creative"] = "another text"
        if n % 89 == 3:
            row["rank"] = rows[n - 1]["rank"]
    third = len(rows) // NIGHTS + 2  # in the midst of a slate
    parts = [rows[n * third : (n + 1) * third] for n in range(NIGHTS)]
    parts[1] = [*parts[1][1:], *parts[0][-40:]]
    parts[2] = [*parts[2], *rows[third : third + 1], *parts[0][:10]]
    return parts


@pytest.mark.parametrize("clicks", ["first", "all", "weighted", "inverse"])
def test_a_log_a_night(tmp_path, asked, clicks):
    rules = Rules(clicks=clicks, most_broken=0.2)
    parts = nights(logs.rows())
    paths = [logs.write_csv(tmp_path / f"log-{n}.csv", part) for n, part in enumerate(parts)]
    before = None
    for night in range(NIGHTS):
        # Those that were read before need not be there.
        given = [*paths[:night][-1:], paths[night]]
        found = read(given, tmp_path / f"night-{night}", since=before, rules=rules)
        before = found.path
    assert asked == [(path.name, 0, 0) for path in paths]
    taken = len(parts[0]) + len(parts[1])
    assert found.counts["since"] == {"rows_taken": taken, "rows_read": len(parts[2])}
    full = read(paths, tmp_path / "full", rules=rules)
    assert found.skipped["row_merged"] > 40
    assert {name for name in found.skipped if name.startswith("row_")} >= {
        "row_position_no_number", "row_document_other_text", "row_position_taken",
    }  # fmt: skip
    assert_same(found, full)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_log_that_grows(tmp_path, asked, form):
    rows = logs.rows(60)

    def write(n):
        path = tmp_path / f"log.{form}"
        if form == "csv":
            return logs.write_csv(path, rows[:n])
        path.write_text("".join(json.dumps(row) + "\n" for row in rows[:n]))
        return path

    first = read([write(101)], tmp_path / "a")
    size = (tmp_path / f"log.{form}").stat().st_size
    found = read([write(len(rows))], tmp_path / "b", since=first.path)
    assert asked[-1] == (f"log.{form}", size, 102 if form == "csv" else 101)
    new = len(rows) - 101
    assert found.counts["since"] == {"rows_taken": 101, "rows_read": new}
    assert_same(found, read([tmp_path / f"log.{form}"], tmp_path / "full"))
    again = read([tmp_path / f"log.{form}"], tmp_path / "c", since=found.path)
    assert again.counts["since"] == {"rows_taken": len(rows), "rows_read": 0}
    assert_same(again, read([tmp_path / f"log.{form}"], tmp_path / "full"))


def test_texts_of_tables_may_be_others_by_now(tmp_path):
    """What had no text has one, and the other way round: rows are judged by today's tables."""
    rows = logs.rows(120)
    columns = {k: v for k, v in logs.COLUMNS.items() if not k.endswith("text")}
    form = logs.form(columns=columns)
    paths = [logs.write_csv(tmp_path / f"log-{n}.csv", rows[240 * n : 240 * n + 240])
             for n in range(2)]  # fmt: skip
    made = {"form": form, "rules": Rules(clicks="all", most_broken=1.0)}

    def texts(night):
        ads = tmp_path / "ads.csv"
        listed = range(45) if night == 0 else range(5, 50)
        pl.DataFrame({"id": [f"a{n}" for n in listed], "text": [f"ad {n}" for n in listed]}
                     ).write_csv(ads)  # fmt: skip
        return ads

    pages = tmp_path / "pages.csv"
    pl.DataFrame({"id": [f"p{n}" for n in range(20)], "text": [f"page {n}" for n in range(20)]}
                 ).write_csv(pages)  # fmt: skip
    first = read(paths[:1], tmp_path / "a", queries=pages, documents=texts(0), **made)
    ads = texts(1)
    found = read(paths, tmp_path / "b", queries=pages, documents=ads, since=first.path, **made)
    assert found.counts["since"] == {"rows_taken": 240, "rows_read": 240}
    assert found.skipped["row_document_unknown"] > 0
    assert_same(found, read(paths, tmp_path / "full", queries=pages, documents=ads, **made))


def test_a_table_beside_texts_in_the_log_must_be_what_it_was(tmp_path):
    rows = logs.rows(120)
    form = logs.form(columns={k: v for k, v in logs.COLUMNS.items() if k != "query_text"})
    path = logs.write_csv(tmp_path / "log.csv", rows)
    pages = tmp_path / "pages.csv"
    found = None
    for night, known in enumerate((range(19), range(19), range(20))):
        table = {"id": [f"p{n}" for n in known], "text": [f"page {n}" for n in known]}
        pl.DataFrame(table).write_csv(pages)
        since = found.path if found else None
        rules = Rules(clicks="all", most_broken=0.5)
        how = {"form": form, "rules": rules, "queries": pages}
        found = read([path], tmp_path / f"{night}", since=since, **how)
        assert_same(found, read([path], tmp_path / "full", **how))
        if night == 1:
            assert found.counts["since"] == {"rows_taken": len(rows), "rows_read": 0}
            assert found.skipped["row_query_unknown"] > 0
    assert "a table beside it" in found.counts["since"]["not_used_because"]


def grown(tmp_path, edit, first="log.csv"):
    """A log that is read, changed by ``edit(path)``, and read again."""
    rows = logs.rows(60)
    path = logs.write_csv(tmp_path / first, rows[:200])
    before = read([path], tmp_path / "a")
    edit(path)
    return path, before


def append(text):
    def edit(path):
        with path.open("a") as file:
            file.write(text)

    return edit


MORE = "s9,p1,the text of page 1,a5,ad number 5; buy,1,1,2024-01-01T00:00:00Z\n"


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (
            lambda path: path.write_text(path.read_text().replace("s3,", "s4,")),
            "is not what it was",
        ),
        (lambda path: path.write_text(path.read_text()[:-100]), "is not what it was"),
    ],
)
def test_a_log_that_is_another_is_read_anew(tmp_path, asked, edit, reason):
    path, before = grown(tmp_path, edit)
    found = read([path], tmp_path / "b", since=before.path)
    assert reason in found.counts["since"]["not_used_because"]
    assert asked[-1] == ("log.csv", 0, 0)
    assert_same(found, read([path], tmp_path / "full"))


@pytest.mark.parametrize(
    ("tail", "reason"), [("", "was not whole"), ('s8,p1,a "lost,quote\n', "quote may have been")]
)
def test_a_log_whose_end_was_not_whole_is_read_anew(tmp_path, tail, reason):
    path = logs.write_csv(tmp_path / "log.csv", logs.rows(60)[:200])
    path.write_text(path.read_text() + tail if tail else path.read_text()[:-1])
    before = read([path], tmp_path / "a")
    append(MORE if tail else "\n" + MORE)(path)
    found = read([path], tmp_path / "b", since=before.path)
    assert reason in found.counts["since"]["not_used_because"]
    assert_same(found, read([path], tmp_path / "full"))


def test_packed_logs_and_earlier_ones_do_not_grow(tmp_path):
    rows = logs.rows(60)
    text = logs.csv_text(rows)
    packed = tmp_path / "log.csv.gz"
    packed.write_bytes(gzip.compress(text[:9000].rpartition("\n")[0].encode() + b"\n"))
    before = read([packed], tmp_path / "a")
    packed.write_bytes(gzip.compress(text.encode()))
    found = read([packed], tmp_path / "b", since=before.path)
    assert "is packed" in found.counts["since"]["not_used_because"]
    paths = [logs.write_csv(tmp_path / f"log-{n}.csv", rows[80 * n : 80 * n + 80])
             for n in range(2)]  # fmt: skip
    both = read(paths, tmp_path / "c")
    append(MORE)(paths[0])
    found = read(paths, tmp_path / "d", since=both.path)
    assert "others were read after it" in found.counts["since"]["not_used_because"]
    assert_same(found, read(paths, tmp_path / "full"))


def test_nothing_new_is_the_same_under_another_name(tmp_path, asked):
    paths = [logs.write_csv(tmp_path / "log.csv", logs.rows(60))]
    before = read(paths, tmp_path / "a")
    asked.clear()
    found = read(paths, tmp_path / "b", since=before.path)
    assert asked == []
    assert_same(found, before)
    assert (found.path / "relations/click/part-00000.parquet").samefile(
        before.path / "relations/click/part-00000.parquet"
    )


def test_clicks_that_cannot_be_used(tmp_path):
    rows = logs.rows(60)
    paths = [logs.write_csv(tmp_path / f"log-{n}.csv", rows[80 * n : 80 * n + 80])
             for n in range(2)]  # fmt: skip
    before = read(paths[:1], tmp_path / "a")

    def said(since=before.path, given=paths[1:], **how):
        with pytest.raises(BadInput) as caught:
            read(given, tmp_path / "b", since=since, **how)
        return str(caught.value)

    other = logs.form(log={"first_position": 0})
    assert "or its version of ssi was another, and log-0.csv is not given" in said(form=other)
    found = read(paths, tmp_path / "b", since=before.path, form=other)
    assert "its map" in found.counts["since"]["not_used_because"]
    write_corpus(tmp_path / "corpus", ["a", "b"], [])
    assert "it keeps no rows of logs" in said(tmp_path / "corpus")
    part = before.path / "lines" / "part-00000.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[:100])
    assert "lines/part-00000.parquet" in said()
    part.unlink()
    assert "it is missing" in said()
    reseal(before.path)
    assert "rows are missing" in said()
    part.write_bytes(whole)
    (before.path / "lines" / "lines.json").write_text("{")
    reseal(before.path)
    assert "lines.json: not JSON" in said()
    shutil.rmtree(before.path / "lines")
    reseal(before.path)
    assert "keeps no rows of logs" in said()
