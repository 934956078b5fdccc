"""Feeds in Python."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ssi_core.guests.feeds.reading import Feed
from ssi_core.guests.feeds.reading import read_feeds as read
from ssi_core.root import user_path


def read_feeds(directory: str | Path) -> list[Feed]:
    """Read a folder of feeds in Atom and RSS.

    Parameters
    ----------
    directory : str or Path
        The folder; files that are no feeds are named in the log and left out.

    Returns
    -------
    list of Feed
        ``title``, ``description``, ``topics`` and ``entries`` of each, the newest entry first.

    Raises
    ------
    BadInput
        feedparser is not installed, there is no feed in the folder, or a file declares entities.

    Examples
    --------
    >>> from pathlib import Path
    >>> import ssi_core as ssi
    >>> item = "<item><title>Sails</title><description>A ship</description></item>"
    >>> head = "<title>Ships</title><category>Sea</category>"
    >>> Path("feeds").mkdir()
    >>> text = f"<rss version='2.0'><channel>{head}{item}</channel></rss>"
    >>> _ = Path("feeds/one.rss").write_text(text)
    >>> [(feed.title, feed.topics, feed.entries[0].title) for feed in ssi.read_feeds("feeds")]
    [('Ships', ('Sea',), 'Sails')]
    """
    return list(read(user_path(directory), Counter()))
