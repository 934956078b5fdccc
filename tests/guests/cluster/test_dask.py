"""Parts on a Dask cluster: a scheduler and two workers, which are processes of their own."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from ssi_core.experiment import parse_table
from ssi_core.experiment.training import RowPart, open_part, train_part
from ssi_core.guests.cluster import dask as cluster
from ssi_core.parts import Stage, run_parts
from ssi_core.tasks.task import build_task
from ssi_core.types import BadInput, Refused
from ssi_core.views import matching
from tests.datasets import dumps
from tests.flows.pages import REPOSITORY
from tests.killing import contents
from tests.parts import jobs
from tests.parts.machines import running
from tests.sources import ingest

distributed = pytest.importorskip("distributed", reason="pip install 'ssi[cluster]'")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def all_of(stage, parts, where):
    with run_parts(stage, parts, where) as ended:
        return list(ended)


def made(where, path, **how):
    path.mkdir(exist_ok=True)
    stage = Stage("powers of matrices", partial(jobs.powers, place=path, **how), path)
    with run_parts(stage, jobs.PARTS, where) as ended:
        return {done.part: done.result() for done in ended}


def test_of_a_killed_worker_its_part_alone_is_made_again_and_all_bits_are_those_of_local(
    dask, tmp_path
):
    here = made("local", tmp_path / "here")
    there = tmp_path / "there"
    found = made(dask.where, there, killing=3)
    assert found == here
    assert jobs.contents(there) == jobs.contents(tmp_path / "here")
    assert jobs.executions(there) == {n: 1 + (n == 3) for n in jobs.PARTS}
    # The same again finds all of it.
    assert made(dask.where, there) == here
    assert sum(jobs.executions(there).values()) == len(jobs.PARTS) + 1


def test_an_error_of_a_part_keeps_its_type_and_place_and_ends_no_other(dask, tmp_path):
    stage = Stage("numbers", partial(jobs.fail, told=3), tmp_path)
    with run_parts(stage, range(6), dask.where) as ended:
        done = {one.part: one for one in ended}
    assert sorted(done) == list(range(6))
    with pytest.raises(BadInput, match=r"^item 3") as caught:
        done[3].result()
    assert "jobs.py" in caught.value.__notes__[0]
    assert [done[n].result() for n in (0, 1, 2, 4, 5)] == [0, 1, 2, 4, 5]


def test_parts_are_described_as_they_are_needed(dask, tmp_path):
    taken = []
    stage = Stage("numbers", partial(jobs.add, told=1), tmp_path)
    with run_parts(stage, (taken.append(i) or i for i in range(20)), dask.where) as ended:
        next(ended)
        assert len(taken) <= 2


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"code": "0"}, "it has other code of ssi"),
        ({"versions": (("Python", "3.0"),)}, r"it has Python 3\.1\d\.\d+, not 3\.0"),
    ],
)
def test_workers_that_would_compute_something_else_are_refused(
    dask, tmp_path, monkeypatch, other, said
):
    here = cluster.Likeness.here

    def changed(modules):
        real = here(modules)
        versions = other.get("versions", ()) + real.versions[len(other.get("versions", ())) :]
        return replace(real, **other | {"versions": versions})

    monkeypatch.setattr(cluster.Likeness, "here", changed)
    with pytest.raises(Refused, match=said) as caught:
        made(dask.where, tmp_path / "there")
    assert "with 2 workers" in str(caught.value)
    assert "docs/cluster.md" in str(caught.value)
    assert not (tmp_path / "there" / "executions").exists()
    # A worker that comes later refuses by itself.
    monkeypatch.setattr(cluster, "_require_likeness", lambda *known: None)
    with pytest.raises(Refused, match=said):
        made(dask.where, tmp_path / "there")
    assert not (tmp_path / "there" / "executions").exists()


def test_workers_that_do_not_see_the_place_or_an_input_are_refused(dask, tmp_path, monkeypatch):
    file = tmp_path / "input"
    file.write_text("here")
    stage = Stage("numbers", partial(jobs.add, told=1), tmp_path / "there", [file])
    seen = cluster.Seen

    def elsewhere(place, mark, files):
        return seen(place, f"{mark}-elsewhere", tuple((path, size + 1) for path, size in files))

    monkeypatch.setattr(cluster, "Seen", elsewhere)
    with pytest.raises(Refused, match=r"it does not see .*there; it does not see .*input\."):
        all_of(stage, range(3), dask.where)
    assert list((tmp_path / "there").iterdir()) == []


def test_a_cluster_that_is_not_there_or_has_no_worker_or_one_of_two_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    with pytest.raises(Refused, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1 "):
        made("dask:tcp://127.0.0.1:1", tmp_path / "there")
    how = {
        "processes": False,
        "dashboard_address": "127.0.0.1:0",
        "host": "127.0.0.1",
        "protocol": "tcp",
    }
    with distributed.LocalCluster(n_workers=0, threads_per_worker=2, **how) as there:
        where = f"dask:{there.scheduler_address}"
        with pytest.raises(Refused, match=r"has no worker\. .*dask worker tcp://.* --nthreads 1"):
            made(where, tmp_path / "there")
        there.scale(1)
        there.wait_for_workers(1)
        with pytest.raises(Refused, match=r"it has 2 threads.*--nthreads 1"):
            made(where, tmp_path / "there")


def test_a_corpus_of_a_cluster_has_the_bits_of_one_that_is_made_here(dask, tmp_path, monkeypatch):
    pages = dumps.many(60)
    dump = dumps.write_multistream(tmp_path, pages, per_stream=5)
    plain = dumps.write(tmp_path / "frwiki-1.xml", dumps.xml(*pages))
    monkeypatch.chdir(tmp_path)  # workers are elsewhere
    for source in (dump, plain):
        how = {"part_bytes": 2000, "processes": 1}
        here = ingest("wikipedia", [source], tmp_path / f"here-{source.name}", **how)
        relative = source.relative_to(tmp_path)
        there = ingest("wikipedia", [relative], relative.with_name("out"), where=dask.where, **how)
        assert len(list((here.path / "documents").iterdir())) > 3
        assert contents(there.path) == contents(here.path)
        assert there.key == here.key
        shutil.rmtree(tmp_path / "out")


ROW = {"label": "U'V", "model": "bilinear", "diagonal": "none", "dimensions": 8, "rates": [0.1]}
TABLE = {"name": "t", "title": "t", "rows": [ROW | {"epoch": 250, "budget": 3000}]}


@pytest.mark.trains
def test_a_row_goes_on_from_the_checkpoint_of_a_killed_worker_with_the_same_bits(
    dask, tmp_path, task_dir
):
    table, trained = parse_table(TABLE), {}
    for where in ("local", dask.where):
        path = tmp_path / where[:5]
        path.mkdir()
        part = RowPart(table, "U'V", task_dir, 0, 1, path / "row", path / "kept")
        make = train_part
        if where != "local":
            make = partial(jobs.train_and_die, notes=path)
        (done,) = all_of(Stage("rows", make, path), [part], where)
        assert done.result() is None
        trained[where] = open_part(part)
    assert len(list(path.glob("begun-*"))) == 2
    assert not (path / "kept").exists()
    here, there = trained.values()
    assert there.facts["resumed_at"] > 0
    assert there.threads == [1]
    assert there.curve == here.curve
    assert there.report().per_query.equals(here.report().per_query)
    arrays = [
        {file.name: file.read_bytes() for file in one.models[0].rglob("*.npy")}
        for one in (here, there)
    ]
    assert arrays[0] == arrays[1]
    # Trained again by nobody: it is whole.
    (done,) = all_of(Stage("rows", train_part, path), [part], dask.where)
    assert done.result() is None
    assert open_part(part).usage == there.usage


def certificate(path):
    """Write a certificate that signs itself, for 127.0.0.1, and its key."""
    names = path / "cert.pem", path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=ssi", "-addext", "subjectAltName=IP:127.0.0.1", "-out", names[0],
         "-keyout", names[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return map(str, names)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
def test_with_certificates_nobody_without_one_is_answered(tmp_path, monkeypatch):
    cert, key = certificate(tmp_path)
    settings = {"REQUIRE_ENCRYPTION": "true", "TLS__CA_FILE": cert}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        settings |= {f"TLS__{role}__CERT": cert, f"TLS__{role}__KEY": key}
    variables = {f"DASK_DISTRIBUTED__COMM__{name}": value for name, value in settings.items()}
    code = (
        "import sys; from pathlib import Path; from functools import partial\n"
        "from ssi_core.parts import Stage, run_parts; from tests.parts import jobs\n"
        "if __name__ == '__main__':\n"
        "    stage = Stage('numbers', partial(jobs.add, told=1), Path(sys.argv[2]))\n"
        "    with run_parts(stage, range(4), sys.argv[1]) as ended:\n"
        "        print(sorted(one.result()[0] for one in ended))\n"
    )
    with monkeypatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        with running(tmp_path, workers=1, protocol="tls") as there:
            assert there.address.startswith("tls://")
            run = [sys.executable, "-c", code, there.where, str(tmp_path / "parts")]
            environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
            answered = subprocess.run(run, env=environment, capture_output=True, text=True)
            assert answered.stdout == "[1, 2, 3, 4]\n", answered.stderr
            without = {n: v for n, v in environment.items() if n not in variables}
            for protocol, said in (("tls", "has no certificate"), ("tcp", "no Dask scheduler")):
                run[3] = there.where.replace("tls:", f"{protocol}:")
                refused = subprocess.run(run, env=without, capture_output=True, text=True)
                assert refused.returncode != 0
                assert said in refused.stderr.splitlines()[-1]


@pytest.mark.parametrize("kind", ["links", "mates"])
def test_a_task_of_a_cluster_has_the_bits_of_one_that_is_made_here(
    dask, tmp_path, corpus_dir, mates, monkeypatch, kind
):
    monkeypatch.setattr(matching, "BLOCK", 40)
    monkeypatch.chdir(tmp_path)
    how = {"words": "all", "views": ["counts", "cfh:k=3,words=30,ngrams=1+2"]}
    collection = corpus_dir
    if kind == "mates":
        collection, how = mates, {"relevant": "translation", "vocabularies": "two"}
    paths = [
        build_task(collection, Path(where[:5]), where=where, **how)
        for where in ("local", dask.where)
    ]
    here, there = paths
    assert there.key == here.key
    assert contents(tmp_path / there.path) == contents(tmp_path / here.path)
    assert not list(tmp_path.glob(".*work"))


@pytest.mark.slow
def test_a_scheduler_that_is_killed_ends_the_stage_and_the_next_one_goes_on(tmp_path):
    path = tmp_path / "parts"
    gone = pytest.raises(Refused, match=r"the scheduler at tcp://.* went away")
    with running(tmp_path, workers=1) as there, gone:
        made(there.where, path, killing=2, victim=there.processes[0].pid)
    assert jobs.executions(path)[2] == 1
    made("local", path)
    assert {jobs.executions(path)[n] for n in (0, 1)} == {1}


@pytest.mark.slow
def test_a_part_that_kills_every_worker_fails_alone(tmp_path):
    with running(tmp_path, workers=1) as there:
        done = all_of(Stage("numbers", jobs.die_of_three, tmp_path), range(5), there.where)
    wrong = [one for one in done if isinstance(one.outcome, Exception)]
    assert [one.part for one in wrong] == [3]
    with pytest.raises(Refused, match="4 workers died over one part"):
        wrong[0].result()
