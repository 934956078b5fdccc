from types import SimpleNamespace

import pytest

from ssi_core.tasks import cost
from ssi_core.tasks.clicks import counted_rows
from ssi_core.tasks.task import build_task
from ssi_core.types import Refused


def test_a_task_that_does_not_fit_is_refused_before_anything_is_written(
    corpus_dir, tmp_path, monkeypatch
):
    monkeypatch.setenv("SSI_MEMORY", "50M")
    with pytest.raises(Refused, match=r"features takes about .* of memory, and 52 MB"):
        build_task(corpus_dir, tmp_path / "task")
    assert list(tmp_path.iterdir()) == []


def test_what_grows_with_the_corpus_is_counted(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(cost, "require", lambda stage, **takes: told.append(takes))
    part = tmp_path / "part-00000.parquet"
    with part.open("wb") as file:
        file.truncate(1_600_000_000)
    for documents, links, every in ((2e6, 25e6, False), (2e6, 50e6, False), (2e6, 25e6, True)):
        cost.require_features(
            [part], tmp_path, documents=int(documents), links=int(links), views=3, all_words=every
        )
    base, linked, wide = (takes["memory"] for takes in told)
    assert (base, wide) == (1_988_936_890, 3_147_758_960)
    assert linked - base == 25 * 25_000_000
    assert "words=30000" in told[2]["remedy"]
    assert told[0]["disk"] == 4 * 4 * 800_000_000


@pytest.mark.parametrize(
    ("rule", "counts", "skipped", "rows"),
    [
        ("all", {"clicks": 7, "pairs": 5}, {}, 7),
        ("all", {"impressions": 9, "clicks": 7}, {"row_of_slate_without_click": 4}, 9),
        ("all", {"pairs": 5}, {}, 5),
        ("weighted", {"impressions": 9}, {"row_of_slate_without_click": 4}, 13),
        ("weighted", {"impressions": 9}, {}, 9),
    ],
)
def test_rows_of_slates_without_a_click_count_where_they_are_read(rule, counts, skipped, rows):
    artefact = SimpleNamespace(configuration={"clicks": rule}, counts=counts, skipped=skipped)
    assert counted_rows(SimpleNamespace(artefact=artefact)) == rows
