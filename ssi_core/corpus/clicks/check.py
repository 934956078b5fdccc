"""Which rows of a log can be believed: values of the right kind, or a reason why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from ssi_core.corpus.clicks.columns import ROLES, LogMap

YES, NO = ("1", "true", "yes", "t", "y", "click"), ("0", "false", "no", "f", "n")
QUARANTINE: Mapping[str, pl.DataType] = {
    "file": pl.String(),
    "line": pl.Int64(),
    "category": pl.String(),
    "reason": pl.String(),
    "row": pl.String(),
}
"""Schema of ``quarantine.csv``: where a row was, why it is not believed, and the row."""

_TIMES = ("%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f%#z")
_LOCAL_TIMES = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d")
_LAST_SECOND = 1 << 35  # of numbers, what is larger are milliseconds


@dataclass(frozen=True)
class Check:
    """A rule on one role: rows where ``holds`` is not true are of ``category``."""

    role: str
    category: str
    holds: pl.Expr
    said: str


def checks(form: LogMap) -> list[Check]:
    """Rules of a map, over a frame with a text column per role, in the order of asking."""
    found = [
        Check(role, f"{role}_missing", _there(role), "is empty")
        for role in ("session", "page", "page_text", "ad", "ad_text")
        if role in form.columns and not (role.endswith("text") and role[:-5] in form.columns)
    ]
    whole = pl.col("position").str.contains(r"^\s*\d{1,9}\s*$").fill_null(False)
    first = form.log.first_position
    found += [
        Check("position", "position_no_number", whole, "is no whole number"),
        Check(
            "position",
            "position_below_first",
            position(form) >= 1,
            f"is below the first position, {first} ([log] first_position)",
        ),
        Check(
            "clicked",
            "clicked_unknown",
            _lower("clicked").is_in([*YES, *NO]),
            f"is neither a click ({', '.join(YES)}) nor none ({', '.join(NO)})",
        ),
    ]
    if "time" in form.columns:
        how = form.log.time_format or "ISO 8601, or seconds since 1970; [log] time_format says"
        holds = time(form).is_not_null()
        found.append(Check("time", "time_unknown", holds, f"is no time as expected ({how})"))
    return found


def _there(role: str) -> pl.Expr:
    return (pl.col(role).str.strip_chars() != "").fill_null(False)


def _lower(role: str) -> pl.Expr:
    return pl.col(role).str.strip_chars().str.to_lowercase()


def position(form: LogMap) -> pl.Expr:
    """Position as a number, 1 is the best."""
    number = pl.col("position").str.strip_chars().cast(pl.Int32, strict=False)
    return number - form.log.first_position + 1


def clicked() -> pl.Expr:
    """Whether the row is a click."""
    return _lower("clicked").is_in(YES)


def time(form: LogMap) -> pl.Expr:
    """Time in UTC, null where it is none."""
    text = pl.col("time").str.strip_chars()
    kind = pl.Datetime("us", "UTC")
    if form.log.time_format:
        if "%z" in form.log.time_format.replace("%#z", "%z").replace("%:z", "%z"):
            return text.str.to_datetime(form.log.time_format, strict=False).cast(kind)
        return (
            text.str.to_datetime(form.log.time_format, strict=False, time_unit="us")
            .dt.replace_time_zone("UTC")
        )  # fmt: skip
    number = text.cast(pl.Float64, strict=False)
    seconds = pl.when(number < _LAST_SECOND).then(number).otherwise(number / 1000)
    # What is no time of this calendar would not fit into the type.
    able = seconds.is_between(0, 253402300799)
    epoch = pl.when(able).then((seconds * 1e6).cast(pl.Int64, strict=False)).cast(kind)
    zoned = [text.str.to_datetime(f, strict=False, time_unit="us").cast(kind) for f in _TIMES]
    local = [
        text.str.to_datetime(f, strict=False, time_unit="us").dt.replace_time_zone("UTC")
        for f in _LOCAL_TIMES
    ]
    return pl.coalesce(epoch, *zoned, *local)


def judged(block: pl.DataFrame, form: LogMap, file: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Divide a block of a log into rows to believe and rows for the quarantine.

    Parameters
    ----------
    block : as `log.read_log` yields it
    file : name of the log

    Returns
    -------
    believed : line, session, user, page, page_title, page_text, ad, ad_title, ad_text (str),
        position (int32, 1 is the best), clicked (bool), time (UTC); what the log lacks is null
    quarantined : in schema `QUARANTINE`
    """
    named = block.rename({column: role for role, column in form.columns.items()})
    category, reason = pl.col("category"), pl.col("problem")
    rules = checks(form)
    broken = [~rule.holds.fill_null(False) for rule in rules]
    for rule, wrong in zip(rules, broken, strict=True):
        text = pl.col(rule.role).fill_null("").str.slice(0, 60)
        said = pl.format(f"{_escaped(form.column(rule.role))}: '{{}}' {_escaped(rule.said)}", text)
        category = pl.coalesce(category, pl.when(wrong).then(pl.lit(rule.category)))
        reason = pl.coalesce(reason, pl.when(wrong).then(said))
    told = named.with_columns(category=category, reason=reason)
    fine = pl.col("category").is_null()
    quarantined = told.filter(~fine).select(
        pl.lit(file).alias("file"), "line", "category", "reason", pl.col("raw").alias("row")
    )
    nothing = pl.lit(None, pl.String)
    texts = [
        pl.col(role).str.strip_chars() if role in form.columns else nothing.alias(role)
        for role in ROLES
        if role not in ("position", "clicked", "time")
    ]
    when = time(form) if "time" in form.columns else pl.lit(None, pl.Datetime("us", "UTC"))
    believed = told.filter(fine).select(
        "line", *texts, position=position(form), clicked=clicked(), time=when
    )
    return believed, quarantined


def _escaped(text: str) -> str:
    return text.replace("{", "(").replace("}", ")")


def alike(block: pl.DataFrame, form: LogMap, category: str) -> Iterator[str]:
    """Yield other columns of the map whose values would all pass the rule that rows broke."""
    rules: Sequence[Check] = [rule for rule in checks(form) if rule.category == category]
    named = block.rename({column: role for role, column in form.columns.items()})
    named = named.filter(pl.col("category").is_null())
    for rule in rules:
        for role in form.columns:
            swapped = named.with_columns(pl.col(role).alias(rule.role))
            if (
                role != rule.role
                and len(named)
                and swapped.select(rule.holds.fill_null(False).all()).item()
            ):
                yield form.column(role)
