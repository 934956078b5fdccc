"""Do a stage of the work in parts: in this process, in several processes, or on several machines.

A part is a small description. ``make(part)`` writes what it describes to a place that every process
and machine sees, and returns little: counts, or nothing. It writes beside the place and renames
(`once`, `file_once`), so that a part that is made twice is harmless, and a part that is whole is
not made again.

``where`` is ``local``, or ``dask:tcp://HOST:PORT``, the scheduler of a Dask cluster (``dask:tls://``
with certificates). Results never depend on it.
"""

from ssi_core.parts.run import LOCAL, address_of, run_parts
from ssi_core.parts.stage import Done, Stage
from ssi_core.parts.whole import file_once, once

__all__ = ["LOCAL", "Done", "Stage", "address_of", "file_once", "once", "run_parts"]
