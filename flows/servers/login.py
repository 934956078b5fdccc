"""A link that logs in to the pages of the Prefect server of a root.

Prefect's page asks for the secret with two messages in red, and keeps it in the browser. The server
of a root serves its pages from a directory of the root, to which we add one that keeps the secret
of its own address. The secret stands behind the "#", which a browser does not send.
"""

from __future__ import annotations

from pathlib import Path

from flows import environment
from flows.servers import access
from ssi_core import private

_NAME = "enter.html"
_PAGE = """<!doctype html>
<meta charset="utf-8">
<title>Prefect</title>
<script>
  localStorage.setItem("prefect-password", btoa(location.hash.slice(1)));
  location.replace("/dashboard");
</script>
"""


def settings() -> dict[str, str]:
    """Return the settings of a server whose pages are those of this root."""
    return {"PREFECT_SERVER_UI_STATIC_DIRECTORY": str(_pages())}


def link(address: str) -> str | None:
    """Return the address that logs in to a server that runs; None where its pages are others.

    Parameters
    ----------
    address : str
        Of a page of the server.
    """
    pages = _pages() / "v1"
    if not pages.is_dir():
        return None
    page = pages / _NAME
    if not page.exists():
        page.write_text(_PAGE, encoding="utf-8")
    return f"{address.rpartition('/')[0]}/{_NAME}#{access.secret()}"


def _pages() -> Path:
    path = environment.home() / "prefect"
    private.directory(path)
    return path / "ui"
