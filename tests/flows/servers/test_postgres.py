"""MLflow and Prefect on PostgreSQL: retrainings, the alias, and what is read back."""

import contextlib

import psutil
import pytest

from flows import tracking
from flows.servers.addresses import shown
from flows.servers.processes import own_name
from flows.tracking import decisions, registry
from tests.corpora import topical, write_corpus
from tests.flows import postgres

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "it is here"),
]

NAME = "on-postgres"


def rows(address, question):
    import psycopg2

    with contextlib.closing(psycopg2.connect(address)) as connection:
        cursor = connection.cursor()
        cursor.execute(question)
        return cursor.fetchall()


@pytest.fixture(scope="module")
def retrainings(machine, retraining, tmp_path_factory):
    """Two retrainings by the command, whose challengers both have a run."""
    settings = retraining(NAME)
    later = write_corpus(tmp_path_factory.mktemp("later") / "corpus", *topical(220))
    return [
        machine.ssi("retrain", settings["table"], "--corpus", corpus, "--name", NAME)
        for corpus in (settings["corpus"], later)
    ]


@pytest.fixture(params=["server", "database"])
def opened(request, machine, retrainings, monkeypatch):
    """This process beside the others: by MLflow's server, or straight at its database."""
    stores = {"server": machine.mlflow, "database": machine.stores["MLFLOW_BACKEND_STORE_URI"]}
    monkeypatch.setenv("SSI_ROOT", str(machine.root))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", stores[request.param])
    return request.param


def test_both_servers_keep_what_they_know_in_it(machine, retrainings):
    mlflow = machine.stores["MLFLOW_BACKEND_STORE_URI"]
    prefect = machine.stores["PREFECT_SERVER_DATABASE_CONNECTION_URL"].replace("+asyncpg", "")
    assert [retraining["outcome"] for retraining in retrainings] in (
        ["promote", "refuse"],
        ["promote"] * 2,
    )
    said = f"select version from model_versions where name = '{NAME}' order by version"
    assert rows(mlflow, said)[0] == (1,)
    assert rows(mlflow, "select name, start_time from runs where status = 'RUNNING'") == []
    said = f"select state_type, count(*) from flow_run where name like '{NAME}:%' group by 1"
    assert rows(prefect, said) == [("COMPLETED", 2)]
    assert not list((machine.root / "mlruns").glob("*.db"))
    assert not list(machine.root.rglob("prefect.db"))


def test_the_alias_moves_and_its_history_is_read_back(opened, retrainings):
    first, second = (retraining["challenger"] for retraining in retrainings)
    before = registry.history(NAME)
    up = registry.promote(second, "by hand", NAME)
    assert registry.run_of(up.version, NAME) == second
    back = registry.rollback("tried", NAME)
    assert registry.run_of(back.version, NAME) == first
    assert registry.champion(NAME) == back.version == "1"
    moves = [(c.version, c.how, c.done) for c in registry.history(NAME)[len(before) :]]
    assert moves[-1] == ("1", "rollback", True)
    assert all(done for _, _, done in moves)
    tags = tracking.client().get_model_version(NAME, "1").tags
    assert {"task", "corpus", "code", "split_seed", "run", "retraining", "decision"} <= tags.keys()


def test_decisions_and_the_files_of_a_model_are_read_back(machine, retrainings, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(machine.root))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", machine.mlflow)
    assert [retraining.run_id for retraining in decisions.retrainings(NAME)] == [
        retraining["run_id"] for retraining in reversed(retrainings)
    ]
    directory = tracking.model_directory(f"models:/{NAME}@champion")
    assert (directory / "model.json").is_file()
    assert machine.root in directory.parents
    assert tracking.run_report(retrainings[0]["challenger"]).means["map"] > 0
    found = machine.ssi("search", f"models:/{NAME}@champion", "boats1 boats2", "-k", "3")
    assert len(found["results"]) == 3
    left = [path.name for path in (machine.root / ".ssi" / "tmp").iterdir()]
    assert set(left) <= {own_name()}  # what this process has, which is no command


def test_no_password_is_shown(machine, retrainings):
    from urllib.parse import quote

    secret = quote(postgres.PASSWORD, safe="")
    for process in machine.processes.values():
        for one in (process.pid, *(c.pid for c in psutil.Process(process.pid).children(True))):
            with contextlib.suppress(psutil.NoSuchProcess):
                assert secret not in " ".join(psutil.Process(one).cmdline())
    address = machine.stores["MLFLOW_BACKEND_STORE_URI"]
    assert secret in address
    assert secret not in shown(address)
    for log in machine.root.glob("*.log"):
        assert secret not in log.read_text(errors="replace")
