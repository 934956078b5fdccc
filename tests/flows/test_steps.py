import os
from importlib import import_module
from pathlib import Path
from typing import get_type_hints
from uuid import UUID

import pytest
import yaml

from flows.reporting.shipped_tables import find_table
from ssi_core.experiment import Row
from ssi_core.types import BadInput, Inapplicable, Refused

prefect = pytest.importorskip("prefect")

from flows import ingest, pipeline, steps  # noqa: E402


def test_a_changed_file_changes_its_key(tmp_path):
    dump = tmp_path / "dump.xml"
    dump.write_text("one")
    before = steps.file_key(dump)
    assert steps.file_key(dump) == before == steps.file_key(tmp_path / "." / "dump.xml")
    os.utime(dump, ns=(0, 1))
    assert steps.file_key(dump) != before
    with pytest.raises(BadInput, match=r"absent\.xml is not there"):
        steps.file_key(tmp_path / "absent.xml")


def test_a_page_shows_progress_at_most_every_two_seconds_and_the_end(monkeypatch):
    shown, now = [], [10.0]
    monkeypatch.setattr(steps, "create_progress_artifact", lambda **_: UUID(int=1))
    monkeypatch.setattr(
        steps, "update_progress_artifact", lambda _, progress, description: shown.append(progress)
    )
    monkeypatch.setattr(steps.time, "monotonic", lambda: now[0])
    told = steps.progress("reading")
    for second, fraction in ((1, 0.1), (2, 0.2), (3.5, 0.3), (4, 0.4), (4.5, 1.0)):
        now[0] = 10.0 + second
        told(fraction, "texts")
    assert shown == [20, 40, 100]


@pytest.mark.parametrize(
    ("error", "worth"),
    [(OSError("lost"), True), (BadInput("x"), False), (Refused("x"), False), (ValueError(), False)],
)
def test_only_what_may_pass_is_tried_again(error, worth):
    state = prefect.states.Failed(data=error)
    assert steps.worth_retrying(None, None, state) is worth


def rows(*forms):
    return [
        pipeline.Job(Row(str(n), "bilinear", "t", parameters={"form": form}), 0, "task")
        for n, form in enumerate(forms)
    ]


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_each_worker_mostly_meets_one_form(workers):
    jobs = rows(*"abababab")
    ordered = pipeline.in_turn(jobs, workers)

    assert sorted(map(str, ordered)) == sorted(map(str, jobs))
    if workers == 2:
        forms = [job.row.parameters["form"] for job in ordered]
        assert forms[::2] == ["a"] * 4
        assert forms[1::2] == ["b"] * 4


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ((BadInput("p"), BadInput("q")), BadInput),
        ((Refused("p"),), Refused),
        ((Refused("p"), BadInput("q")), pipeline.RowsFailed),
        ((OSError("p"),), pipeline.RowsFailed),
    ],
)
def test_failed_rows_are_one_failure(errors, kind):
    failed = {f"row {n}": error for n, error in enumerate(errors)}
    found = pipeline.failure(failed, 9)
    assert type(found) is kind
    assert str(found).startswith(f"{len(errors)} of 9 rows failed: row 0: p")


def test_a_row_with_nothing_to_learn_from_is_left_out_and_others_fail(task_dir, monkeypatch):
    table, settings = find_table("demo"), pipeline.PipelineSettings()
    tasks = {name: str(task_dir) for name in table.tasks}
    failed = {"a": Inapplicable("no title")}
    monkeypatch.setattr(pipeline, "run_jobs", lambda *jobs: failed)
    compared = {"summary": ("demo", "c"), "missing": []}
    monkeypatch.setattr(pipeline, "compare_rows", lambda *names, **order: {**compared})
    assert pipeline._rows(table, tasks, "c", settings) == compared
    failed["b"] = BadInput("a word")
    with pytest.raises(pipeline.RowsFailed, match=r"1 of \d+ rows failed: b: a word") as caught:
        pipeline._rows(table, tasks, "c", settings)
    assert caught.value.comparison == compared
    assert type(caught.value.__cause__) is BadInput


def test_rows_that_nobody_asked_for_are_not_missing(task_dir, monkeypatch):
    table = find_table("demo")
    asked = table.select(["TF-IDF", "W = D"])
    labels = [row.label for row in table.rows if row.label != "TF-IDF"]
    monkeypatch.setattr(pipeline, "run_jobs", lambda *jobs: {})
    monkeypatch.setattr(pipeline, "compare_rows", lambda *names, **order: {"missing": labels})
    tasks = {name: str(task_dir) for name in table.tasks}
    found = pipeline._rows(asked, tasks, "c", pipeline.PipelineSettings())
    assert found["missing"] == ["W = D"]


def test_texts_are_read_by_the_source_that_they_look_like(tmp_path):
    (tmp_path / "site").mkdir()
    for name, source in (("site", "folder"), ("a.csv", "table"), ("simple.xml.bz2", "wikipedia")):
        settings = ingest.settings_of_files([str(tmp_path / name)], processes=2)
        chosen = settings.chosen()
        assert (settings.source, chosen.paths) == (source, (tmp_path / name,))
        assert getattr(chosen, "processes", 2) == 2


def test_one_input_is_enough(task_dir, tmp_path):
    table = find_table("demo")
    with pytest.raises(BadInput, match="corpus and texts are given; name one"):
        pipeline.make_tasks(table, pipeline.PipelineSettings(corpus="a", texts=["b"]))
    with pytest.raises(BadInput, match="holds no task"):
        pipeline.make_tasks(table, pipeline.PipelineSettings(task=str(tmp_path)))
    made = pipeline.make_tasks(table, pipeline.PipelineSettings(task=str(task_dir)))
    assert made == {"links": str(task_dir)}


def test_the_same_work_has_the_same_comparison(task_dir):
    table, tasks = find_table("demo"), {"links": str(task_dir)}
    first = pipeline.comparison_id(table, tasks)

    assert first == pipeline.comparison_id(table, tasks)
    assert first != pipeline.comparison_id(table.select(["TF-IDF", "W = D"]), tasks)


def test_every_form_says_what_it_wants():
    for flow in (ingest.ingest, pipeline.pipeline):
        (form,) = flow.parameters.definitions.values()
        assert all(field.get("description") for field in form["properties"].values())
    fields = pipeline.pipeline.parameters.definitions["PipelineSettings"]["properties"]
    assert (fields["sample"]["minimum"], fields["sample"]["default"]) == (20, 2000)


def test_the_shipped_table_is_found_by_name():
    assert find_table("demo").name == "demo"


DEPLOYED = yaml.safe_load((Path(__file__).parents[2] / "prefect.yaml").read_text())["deployments"]


@pytest.mark.parametrize("deployment", DEPLOYED, ids=lambda one: one["name"])
def test_a_run_of_a_deployment_is_named_by_what_it_does(deployment):
    file, name = deployment["entrypoint"].split(":")
    flow = getattr(import_module(file.removesuffix(".py").replace("/", ".")), name)
    given = deployment["parameters"]["settings"]
    kind = get_type_hints(flow.fn)["settings"]
    settings = kind(**given)
    said = flow.flow_run_name.format(settings=settings)
    assert said
    assert "{" not in said
