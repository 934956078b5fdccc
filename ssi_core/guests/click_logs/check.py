"""Checks of the rows of a log: a valid value in each column, or the reason why it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from ssi_core.guests.click_logs.columns import HIGHEST_GRADE, TEXTS, LogMap

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
_NUMBER = r"^\s*\d{1,15}(\.0*)?\s*$"
_LAST_SECOND = 1 << 35  # of numbers, what is larger are milliseconds


@dataclass(frozen=True)
class Check:
    """A rule on one role: rows where ``holds`` is not true are of ``category``."""

    role: str
    category: str
    holds: pl.Expr
    problem: str


def checks(form: LogMap) -> list[Check]:
    """Rules of a map, over a frame with a text column per role, in the order of asking."""
    rules = [
        Check(role, f"{role}_missing", _there(role), "is empty")
        for role in ("session", "query", "query_text", "document", "document_text")
        if role in form.columns and not (role.endswith("text") and role[:-5] in form.columns)
    ]
    whole = pl.col("position").str.contains(r"^\s*\d{1,9}(\.0*)?\s*$").fill_null(False)
    first = form.log.first_position
    how = form.log.time_format or "ISO 8601, or seconds since 1970; [log] time_format says"
    rules += [
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
        Check(
            "timestamp",
            "timestamp_unknown",
            time(form).is_not_null(),
            f"is no time as expected ({how})",
        ),
        *[
            Check(role, f"{role}_no_number", pl.col(role).str.contains(_NUMBER), "is no count")
            for role in ("shown", "clicks")
        ],
        *_counted(form),
        Check("grade", "grade_unknown", _graded(form), f"is no grade ({_known_grades(form)})"),
    ]
    return [one for one in rules if one.role in form.columns]


def _counted(form: LogMap) -> list[Check]:
    if "shown" not in form.columns:
        return []
    fits = number("clicks") <= number("shown")
    return [Check("clicks", "clicks_above_shown", fits, "is more than was shown")]


def _graded(form: LogMap) -> pl.Expr:
    """Tell whether a row has a grade, or needs none: beside clicks it may be empty."""
    needed = not {"clicks", "clicked"} & form.columns.keys()
    known = grade(form).is_not_null()
    return known if needed else known | ~_there("grade")


def _known_grades(form: LogMap) -> str:
    labels = ", ".join(form.grades.labels)
    return labels or f"a number from 0 to {HIGHEST_GRADE}; [grades.labels] says what others are"


def _there(role: str) -> pl.Expr:
    return (pl.col(role).str.strip_chars() != "").fill_null(False)


def _lower(role: str) -> pl.Expr:
    return pl.col(role).str.strip_chars().str.to_lowercase()


def position(form: LogMap) -> pl.Expr:
    """Position as a number, 1 is the best."""
    return number("position").cast(pl.Int32, strict=False) - form.log.first_position + 1


def clicked(form: LogMap) -> pl.Expr:
    """Tell whether the row is a click, or has one."""
    if "clicks" in form.columns:
        return number("clicks") > 0
    if "clicked" in form.columns:
        return _lower("clicked").is_in(YES)
    return pl.lit(form.log.all_clicked)


def number(role: str) -> pl.Expr:
    """Count of a row, null where it is none."""
    return pl.col(role).str.strip_chars().str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)


def grade(form: LogMap) -> pl.Expr:
    """Grade of a row, from 0 to `HIGHEST_GRADE`, null where it is none."""
    text = pl.col("grade").str.strip_chars()
    if labels := form.grades.labels:
        return text.replace_strict(
            list(labels), list(labels.values()), default=None, return_dtype=pl.Float64
        )
    value = text.cast(pl.Float64, strict=False)
    return pl.when(value.is_between(0, HIGHEST_GRADE)).then(value)


def _sums(form: LogMap) -> dict[str, pl.Expr]:
    """Showings, clicks and grade of a row that tells of a pair; null of a showing."""
    nothing, one = pl.lit(None, pl.Int64), pl.lit(1, pl.Int64)
    shown, clicks = nothing, nothing
    if "clicks" in form.columns:
        clicks = number("clicks")
        shown = number("shown") if "shown" in form.columns else nothing
    elif form.of_pairs and ("clicked" in form.columns or form.log.all_clicked):
        # Where every row is a click, nobody knows what else was shown.
        clicks, shown = clicked(form).cast(pl.Int64), nothing if form.log.all_clicked else one
    known = grade(form) if "grade" in form.columns else pl.lit(None, pl.Float64)
    return {"shown": shown, "clicks": clicks, "grade": known}


def time(form: LogMap) -> pl.Expr:
    """Time in UTC, null where it is none."""
    text = pl.col("timestamp").str.strip_chars()
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
    block : DataFrame
        As `tables.reader.read_rows` yields it.
    file : str
        Name of the log.

    Returns
    -------
    believed : DataFrame
        line, session, user, query, query_title, query_text, document, document_title,
        document_text (str), position (int32, 1 is the best), clicked (bool), timestamp (UTC),
        shown, clicks (int64), grade (float64). What the log lacks is null.
    quarantined : DataFrame
        Rows of the schema `QUARANTINE`.
    """
    category, reason = pl.col("category"), pl.col("problem")
    rules = checks(form)
    broken = [~rule.holds.fill_null(False) for rule in rules]
    for rule, wrong in zip(rules, broken, strict=True):
        text = pl.col(rule.role).fill_null("").str.slice(0, 60)
        reason_text = pl.format(
            f"{_escaped(form.column(rule.role))}: '{{}}' {_escaped(rule.problem)}", text
        )
        category = pl.coalesce(category, pl.when(wrong).then(pl.lit(rule.category)))
        reason = pl.coalesce(reason, pl.when(wrong).then(reason_text))
    judged_rows = block.with_columns(category=category, reason=reason)
    fine = pl.col("category").is_null()
    quarantined = judged_rows.filter(~fine).select(
        pl.lit(file).alias("file"), "line", "category", "reason", pl.col("raw").alias("row")
    )
    nothing = pl.lit(None, pl.String)
    texts = [
        pl.col(role).str.strip_chars() if role in form.columns else nothing.alias(role)
        for role in TEXTS
    ]
    when = time(form) if "timestamp" in form.columns else pl.lit(None, pl.Datetime("us", "UTC"))
    shown_at = position(form) if "position" in form.columns else pl.lit(None, pl.Int32)
    believed = judged_rows.filter(fine).select(
        "line", *texts, position=shown_at, clicked=clicked(form), timestamp=when, **_sums(form)
    )
    return believed, quarantined


def _escaped(text: str) -> str:
    return text.replace("{", "(").replace("}", ")")


def alike(block: pl.DataFrame, form: LogMap, category: str) -> Iterator[str]:
    """Yield other columns of the map that are perhaps swapped with that of a rule that rows broke.

    Their values would all pass the rule, and the values that broke it the rules of theirs.
    """
    rules = checks(form)
    named = block.filter(pl.col("category").is_null())
    if not len(named):
        return
    for rule in (one for one in rules if one.category == category):
        for role in (other for other in form.columns if other != rule.role):
            swapped = named.with_columns(
                pl.col(role).alias(rule.role), pl.col(rule.role).alias(role)
            )
            both = [rule.holds, *(one.holds for one in rules if one.role == role)]
            if swapped.select(pl.all_horizontal(both).fill_null(False).all()).item():
                yield form.column(role)
