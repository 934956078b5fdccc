"""Published tables as data: TOML to frozen, strict dataclasses and back.

A table names its tasks, its rows (a model and its hyper-parameters), the numbers that were printed
and the claims of order that they make. Strict means: an unknown key or a value of the wrong kind
is an error that names the file, the key and what is known.
"""

from ssi_core.experiment.tables import PrintedRow, Published, Row, Table
from ssi_core.experiment.toml import load_table, parse_table
from ssi_core.tasks.spec import TaskSpec

__all__ = ["PrintedRow", "Published", "Row", "Table", "TaskSpec", "load_table", "parse_table"]
