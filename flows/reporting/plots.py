"""Pictures of rows and comparisons; each function returns a figure of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from ssi_core.types import Float64

# Its settings can lie in the working directory; pictures are the same everywhere.
matplotlib.rcdefaults()

# Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C8C")
_DASHES = ("-", "--", ":")
_GREY, _INK = "#D9D9D9", "#333333"

NAMES = {
    "rank_loss": "rank loss (%)",
    "map": "MAP",
    "p_at_10": "P@10",
    "mrr": "MRR",
    "p_at_1": "P@1",
    "ndcg_at_1": "nDCG@1",
    "ndcg_at_3": "nDCG@3",
    "ndcg_at_10": "nDCG@10",
    "hubness": "hubness",
    "popular_at_10": "popular@10",
    "rank_loss_matched": "matched rank loss (%)",
    "map_by_target": "MAP by target",
    "slate_rank_loss": "slate rank loss (%)",
    "slate_map": "slate MAP",
    "slate_p_at_1": "slate P@1",
    "slate_ndcg_at_10": "slate nDCG@10",
}


def _figure(columns: int = 1, *, width: float = 7.0, height: float = 4.2) -> tuple[Figure, Any]:
    # No pyplot: it keeps every figure in a list that all threads share.
    figure = Figure(figsize=(width, height), dpi=150, layout="constrained", facecolor="white")
    axes = figure.subplots(1, columns, squeeze=False)[0]
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
        one.spines[["left", "bottom"]].set_color(_GREY)
        one.tick_params(colors=_INK, labelsize=9, length=0)
        one.grid(color=_GREY, linewidth=0.5)
        one.set_axisbelow(True)
    return figure, axes


def training_curves(
    curves: Mapping[str, Sequence[tuple[int, Mapping[str, float]]]],
) -> Figure:
    """Draw validation rank loss against the triples seen, a line per row.

    Parameters
    ----------
    curves : mapping
        Row -> (step, metrics) by step; the metric ``val/rank_loss`` is drawn.
    """
    figure, (axes,) = _figure()
    for n, (row, curve) in enumerate(curves.items()):
        points = [(step, m["val/rank_loss"]) for step, m in curve if "val/rank_loss" in m]
        if points:
            steps, values = np.array(points, dtype=float).T
            dash = _DASHES[n // len(COLOURS) % len(_DASHES)]
            colour = COLOURS[n % len(COLOURS)]
            axes.plot(steps, 100 * values, dash, color=colour, linewidth=1.8, label=row)
    axes.set_xlabel("triples", color=_INK)
    axes.xaxis.set_major_formatter(lambda x, _: _short(x))
    axes.set_ylabel("validation rank loss (%)", color=_INK)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    if axes.lines:
        axes.legend(framealpha=0.9, edgecolor="none", fontsize=9)
    return figure


def learning_curves(
    panels: Mapping[str, Mapping[str, Sequence[tuple[int, Mapping[str, float]]]]],
) -> Figure:
    """Draw training and test rank loss against the triples seen (Figure 2 of Bai et al. 2010).

    Parameters
    ----------
    panels : mapping
        Title -> row -> (step, metrics) by step; ``curve/train_rank_loss`` is dashed,
        ``curve/test_rank_loss`` is not, and a circle marks where ``val/rank_loss`` is lowest.
    """
    figure, each = _figure(len(panels), width=3.2 * len(panels) + 0.8, height=3.6)
    for axes, (title, rows) in zip(each, panels.items(), strict=True):
        for n, (row, curve) in enumerate(rows.items()):
            for side, dash in (("train", "--"), ("test", "-")):
                name, label = f"curve/{side}_rank_loss", f"{row}, {side}"
                points = [(step, 100 * m[name]) for step, m in curve if name in m]
                axes.plot(*zip(*points, strict=True), dash, color=COLOURS[n], label=label)
            stop = min((m["val/rank_loss"], step, m) for step, m in curve if "val/rank_loss" in m)
            axes.plot(
                stop[1], 100 * stop[2]["curve/test_rank_loss"], "o", color=COLOURS[n], markersize=5
            )
        axes.set_title(title, fontsize=10, color=_INK, loc="left")
        axes.set_xlabel("triples", color=_INK)
        axes.xaxis.set_major_formatter(lambda x, _: _short(x))
        axes.set_xlim(left=0)
    top = max(axes.get_ylim()[1] for axes in each)
    for axes in each:
        axes.set_ylim(0, top)
    each[0].set_ylabel("rank loss (%)", color=_INK)
    each[-1].legend(framealpha=0.9, edgecolor="none", fontsize=8)
    return figure


def _short(count: float) -> str:
    # 50000 -> 50k, 1500000 -> 1.5M
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:g}{letter}"
    return f"{count:g}"


def bars(
    rows: Sequence[str],
    values: Mapping[str, Sequence[float]],
    errors: Mapping[str, Sequence[float]],
    *,
    baseline: str | None = None,
) -> Figure:
    """Draw a panel per measure, a bar per row with its standard error.

    Parameters
    ----------
    rows : sequence of str
        Labels, from the top.
    values, errors : mapping
        Measure -> a value per row (fractions); rank loss is drawn in per cent.
    baseline : str or None
        The row whose bar is grey.
    """
    figure, panels = _figure(
        len(values), width=3.1 * len(values) + 1.2, height=0.32 * len(rows) + 1
    )
    positions = np.arange(len(rows))
    for n, (axes, (measure, numbers)) in enumerate(zip(panels, values.items(), strict=True)):
        scale = 100 if "rank_loss" in measure else 1
        sizes = scale * np.asarray(numbers, dtype=float)
        error = scale * np.nan_to_num(np.asarray(errors[measure], dtype=float))
        colours = ["#A6A6A6" if row == baseline else COLOURS[0] for row in rows]
        axes.barh(
            positions,
            sizes,
            0.68,
            xerr=error,
            color=colours,
            error_kw={"ecolor": _INK, "elinewidth": 1},
        )
        for position, value, width in zip(positions, sizes, error, strict=True):
            text = f"{value:.2f}" if "rank_loss" in measure else f"{value:.3f}"
            axes.annotate(
                text,
                (value + width, position),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=_INK,
            )
        axes.set_yticks(positions, rows if n == 0 else [])
        axes.invert_yaxis()
        axes.margins(x=0.18)
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        better = ", lower is better" if "rank_loss" in measure else ""
        axes.set_title(NAMES.get(measure, measure) + better, fontsize=10, color=_INK, loc="left")
    return figure


def effects(trials: Sequence[Mapping[str, Any]], measure: str) -> Figure:
    """Draw what each setting of the first round gave: a panel per setting, a dot per trial.

    Parameters
    ----------
    trials : sequence of mapping
        ``round``, ``settings`` and ``mean``.
    measure : str
        Of the means.
    """
    first = [trial for trial in trials if trial["round"] == 0]
    values: dict[str, dict[str, list[float]]] = {}
    for trial in first:
        for name, value in trial["settings"].items():
            values.setdefault(name, {}).setdefault(_spelled(value), []).append(trial["mean"])
    several = {name: means for name, means in values.items() if len(means) > 1}
    several = several or {"all": {"": [trial["mean"] for trial in first]}}
    figure, panels = _figure(len(several), width=1.9 * len(several) + 1, height=3.4)
    for n, (axes, (name, means)) in enumerate(zip(panels, several.items(), strict=True)):
        ordered = sorted(means.items())
        for position, (_, dots) in enumerate(ordered):
            axes.scatter(
                [position] * len(dots), dots, s=16, color=COLOURS[0], alpha=0.45, linewidths=0
            )
            axes.plot([position - 0.3, position + 0.3], [np.mean(dots)] * 2, color=COLOURS[1])
        axes.set_xticks(range(len(ordered)), [value for value, _ in ordered], rotation=35)
        axes.set_xlim(-0.6, len(ordered) - 0.4)
        axes.set_title(name, fontsize=10, color=_INK, loc="left")
        axes.sharey(panels[0]) if n else axes.set_ylabel(NAMES.get(measure, measure), color=_INK)
    return figure


def _spelled(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def scatter(x: Float64, y: Float64, x_name: str, y_name: str) -> Figure:
    """Draw the average precision of each query under two rows (Figure 1 of Bai et al. 2010)."""
    figure, (axes,) = _figure(width=4.8, height=4.8)
    axes.plot([0, 1], [0, 1], color="#8C8C8C", linewidth=1)
    axes.scatter(x, y, s=14, color=COLOURS[0], alpha=0.35, linewidths=0)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    axes.set_xlabel(f"average precision, {x_name}", color=_INK)
    axes.set_ylabel(f"average precision, {y_name}", color=_INK)
    above, below = int(np.sum(y > x)), int(np.sum(y < x))
    corners = (
        (0.03, 0.97, "left", "top", above, "above"),
        (0.97, 0.03, "right", "bottom", below, "below"),
    )
    for horizontal, vertical, ha, va, count, side in corners:
        axes.text(
            horizontal,
            vertical,
            f"{count} queries {side}",
            transform=axes.transAxes,
            ha=ha,
            va=va,
            fontsize=9,
            color=_INK,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 2},
        )
    return figure
