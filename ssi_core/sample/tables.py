"""The sample encyclopedia as tables: articles, links between them, and what searchers clicked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from ssi_core.sample.dice import Dice
from ssi_core.sample.dumps import whole_file
from ssi_core.sample.world import World

ARTICLES, LINKS, CLICKS, MAP = "articles.jsonl", "links.csv", "clicks.csv", "log.toml"
_MAP = """# ssi fit clicks.csv --source clicks --set columns=log.toml --texts articles.jsonl
[columns]
session = "session"
query_text = "query"
document = "document"
position = "position"
clicked = "clicked"
"""
_PURPOSE = 9
_SHOWN = 5
_SEARCHES = 6  # of each word
_EXAMINED = (1.0, 0.8, 0.6, 0.5, 0.4)


def write_tables(
    directory: Path, articles: pl.DataFrame, links: pl.DataFrame, world: World
) -> dict[str, int]:
    """Write articles, links, clicks and the map of their columns into a directory.

    Parameters
    ----------
    articles, links : DataFrame
        ``id``, ``title``, ``text``; ``source``, ``target``: the English edition of the sample.
    world : World
        Its plan.

    Returns
    -------
    dict
        Number of rows: ``articles``, ``links``, ``clicks`` (documents that were shown).
    """
    directory.mkdir(parents=True, exist_ok=True)
    with whole_file(directory / ARTICLES) as file:
        for row in articles.iter_rows(named=True):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    with whole_file(directory / LINKS) as file:
        file.write(links.write_csv())
    ids = dict(articles.select("title", "id").iter_rows())
    columns = ["session", "query", "document", "position", "clicked"]
    clicks = pl.DataFrame(list(_shown(world, ids)), schema=columns, orient="row")
    with whole_file(directory / CLICKS) as file:
        file.write(clicks.write_csv())
    with whole_file(directory / MAP) as file:
        file.write(_MAP)
    return {"articles": len(articles), "links": len(links), "clicks": len(clicks)}


def _shown(world: World, ids: dict[str, str]) -> Iterator[tuple[str, str, str, int, int]]:
    """Yield what searchers of every word for a thing were shown, and what they clicked."""
    start, about = world.about
    for concept, page in enumerate(world.article_of.tolist()):
        among = about[start[concept] : start[concept + 1]].tolist()
        if page < 0 or not among:
            continue
        for number, noun in enumerate(world.concept(concept).english):
            dice = Dice(world.seed, _PURPOSE, 8 * concept + number)
            for search in range(_SEARCHES):
                pages = dict.fromkeys(dice.shuffled([page, *dice.shuffled(among)[: _SHOWN - 1]]))
                known = [one for one in pages if world.title(one) in ids]
                for place, one in enumerate(known):
                    wanted = 0.8 if one == page else 0.3
                    clicked = dice.chance(_EXAMINED[place] * wanted)
                    session = f"s{concept}-{number}-{search}"
                    document = ids[world.title(one)]
                    yield session, noun.singular, document, place + 1, int(clicked)
