"""Verbs that read click logs: ingest clicks, wikispeedia-clicks and farm-ads."""

from __future__ import annotations

from pathlib import Path

import click

from ssi_core.command.data import FORCE, OUT, artefact_outcome
from ssi_core.command.verb import Outcome, Verb, progress

_HELP = """Read logs of clicks, counts or judgements: CSV, TSV, JSON or parquet, plain or packed.

\b
The map says which column is which. A row of a log is one of two things. A showing:
  [columns]
  session = "visit"        # a slate is what a session was shown on a page
  page = "url"             # an id; page_text and page_title where the log has them
  ad = "ad_id"             # likewise ad_text and ad_title
  position = "rank"        # optional; [log] first_position = 1
  clicked = "click"        # 1 or 0, true or false, yes or no
  time = "when"            # optional, as is user
  [ads]                    # columns of the table given by --ads; likewise [pages]
  id = "ad_id"
  text = "creative"

\b
Or all that is known of a query and a result: counts, a grade, or both. No session:
  [columns]
  page = "query"           # one column may have several roles of one side
  page_text = "query"
  ad = "url"
  ad_text = "title"
  clicks = "clicks"        # a number; or clicked = 1 or 0 in each of many rows
  shown = "impressions"    # optional: then what was shown and not clicked is known, too
  grade = "judgement"      # 0 to 4; [grades.labels] names others: Exact = 4
  [grades]
  relevant = 1             # from this grade on
  weight = "gain"          # in training: gain (2^grade - 1), one or clicks

\b
Where every row is a click:   [log] all_clicked = true
Where JSON has lists of rows: [log] each = "results", the objects of that list

A grade goes to the evaluation as it is. The rows of a pair are summed, its grades averaged.

Without --language, or language = "zh" under [pages] and [ads], the language is guessed from the
script of the texts, and printed.

Rows that cannot be believed are written to quarantine.csv in --out, with the reason, and
counted. Slates without a click are dropped.

Which --clicks suits which log:

\b
  first     position 1 is often filled by chance: ads that bid, tests
  all       every position is looked at alike, or the order is random
  weighted  any order, if some visits have another one. A pair weighs its clicks
            / looks; a look is a showing times the propensity of its position.
            For rows against any ads, and for against = "shown"
  inverse   the same logs. A click weighs 1 / propensity, and pairs that are
            shown often count more; for rows with against = "shown" only

Without positions there is all alone: they are what propensities are estimated from. What was never
shown on a page is neither good nor bad, and no weight can tell.

With --since only lines that CLICKS has not read are read: new logs, and what the last one has
grown by. The logs that it has read need not be there any more; the result is that of reading all.
"""
_TEXTS = click.Path(path_type=Path, exists=True)


@click.command(
    "clicks",
    cls=Verb,
    help=_HELP,
    examples=(
        "ssi ingest clicks log.csv.gz --map map.toml --out clicks",
        "ssi ingest clicks clicks.tsv.gz --map map.toml --pages corpus --ads ads.tsv.gz",
        "ssi ingest clicks log-*.jsonl --map map.toml --clicks weighted",
        "ssi ingest clicks queries.json --map map.toml --language pt",
        "ssi ingest clicks tuesday.csv --map map.toml --since clicks --out clicks-2",
    ),
)
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--map",
    "map_file",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="TOML file that names the columns.",
)
@click.option("--pages", type=_TEXTS, help="Collection or table of the pages' texts.")
@click.option("--ads", type=_TEXTS, help="Collection or table of the ads' texts.")
@click.option(
    "--language",
    metavar="CODE",
    help="Of the texts of both sides, in the place of the map's: zh, ja, en, ..., any.",
)
@click.option(
    "--clicks",
    type=click.Choice(["first", "all", "weighted", "inverse"]),
    help="Clicks that count, and their weight; see above.  [default: first; all where the log has "
    "no positions]",
)
@click.option("--clip", type=click.FloatRange(min=1), default=10.0, show_default=True,
              help="With --clicks inverse: the largest weight of a click.")  # fmt: skip
@click.option(
    "--most-broken",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Share of rows that may go into quarantine.",
)
@click.option(
    "--since",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="CLICKS",
    help="Clicks of earlier logs: only lines that they have not read are read.",
)
@OUT
@FORCE
def ingest_clicks(
    logs: tuple[Path, ...],
    map_file: Path,
    pages: Path | None,
    ads: Path | None,
    language: str | None,
    clicks: str | None,
    clip: float,
    most_broken: float,
    since: Path | None,
    out: Path | None,
    force: bool,
) -> Outcome:
    """Read click logs."""
    from ssi_core.corpus.clicks.build import ingest_clicks as read
    from ssi_core.corpus.clicks.columns import load_map
    from ssi_core.corpus.clicks.rules import Rules

    rules = Rules(clicks, clip, most_broken)  # type: ignore[arg-type]
    form = load_map(map_file)
    if language is not None:
        form = form.in_language(language)
    with progress("ingest") as tell:
        artefact = read(
            logs,
            form,
            out,
            pages=pages,
            ads=ads,
            rules=rules,
            since=since,
            force=force,
            progress=tell,
        )
    return artefact_outcome(artefact)


@click.command(
    "wikispeedia-clicks",
    cls=Verb,
    examples=("ssi ingest wikispeedia-clicks wikispeedia_paths-and-graph --out clicks",),
)
@click.argument("directory", type=click.Path(path_type=Path))
@OUT
@FORCE
def ingest_wikispeedia_clicks(directory: Path, out: Path | None, force: bool) -> Outcome:
    """Read the clicks of Wikispeedia's players, and the articles that they clicked in."""
    from ssi_core.corpus.clicks.wikispeedia import ingest_wikispeedia_clicks as read

    with progress("ingest") as tell:
        artefact = read(directory, out, force=force, progress=tell)
    return artefact_outcome(artefact)


@click.command(
    "farm-ads",
    cls=Verb,
    examples=("ssi ingest farm-ads farm-ads/ --out clicks",),
)
@click.argument("directory", type=click.Path(path_type=Path))
@OUT
@FORCE
def ingest_farm_ads(directory: Path, out: Path | None, force: bool) -> Outcome:
    """Read Farm Ads: the words of an ad find those of the page that it leads to."""
    from ssi_core.corpus.clicks.farm_ads import ingest_farm_ads as read

    with progress("ingest") as tell:
        artefact = read(directory, out, force=force, progress=tell)
    return artefact_outcome(artefact)
