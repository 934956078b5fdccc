"""A backup while MLflow's server writes."""

import threading

import mlflow
import pytest

from flows import tracking
from flows.servers.server import free_port
from flows.servers.ui import MlflowServer
from flows.storage import backup, restore

pytestmark = pytest.mark.slow


def test_a_backup_while_a_server_writes_is_consistent(own_root, tmp_path, monkeypatch):
    tracking.ready()
    done, finished = threading.Event(), []
    with MlflowServer(tracking.tracking_uri(), free_port()) as server:
        server.wait()
        client = mlflow.MlflowClient(server._url)
        experiment = client.create_experiment("written")

        def write():
            while not done.is_set():
                run = client.create_run(experiment).info.run_id
                client.log_metric(run, "one", 1.0)
                client.log_text(run, "text", "file.txt")
                client.set_terminated(run)
                finished.append(run)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            while len(finished) < 5:
                assert writer.is_alive()
            before = list(finished)
            backup.back_up(tmp_path / "backup.tar.gz")
        finally:
            done.set()
            writer.join()
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "restored"))
    restore.restore(tmp_path / "backup.tar.gz")

    runs = tracking.client().search_runs([experiment], "attributes.status = 'FINISHED'")
    assert {run.info.run_id for run in runs} >= set(before)
    artifacts = tmp_path / "restored" / "mlruns" / "artifacts" / experiment
    for run in runs:
        assert run.data.metrics == {"one": 1.0}
        path = artifacts / run.info.run_id / "artifacts" / "file.txt"
        assert path.read_text() == "text"
