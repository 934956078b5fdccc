from benchmarks.log import EXPERIMENT, log
from benchmarks.timing import Row
from flows import tracking


def test_figures_versions_and_load_are_a_run(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    rows = [
        Row("dump to parquet / bz2", "MB/s", 3.0, 6.0, 0.5, floor=0.33),
        Row("sweep N = 50", "triples/s", note="torch is not installed"),
    ]

    run = log(rows, {"numpy": "2", "load": "0.1 0.2 0.3"}, {"load": "1 2 3"})

    found = tracking.client().get_run(run)
    assert found.data.metrics == {
        "ratio/dump to parquet per bz2": 0.5,
        "ours/dump to parquet per bz2": 3.0,
        "peer/dump to parquet per bz2": 6.0,
        "floor/dump to parquet per bz2": 0.33,
    }
    assert found.data.params == {"numpy": "2", "load": "0.1 0.2 0.3", "load_after": "1 2 3"}
    assert found.info.status == "FINISHED"
    assert tracking.client().get_experiment_by_name(EXPERIMENT)
