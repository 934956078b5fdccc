"""What pictures are drawn of, as a text: numbers, words, colours and widths of all that is seen."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex

from flows.reporting import plots

SEEN = Path(__file__).parent / "pictures"


def described(figure):
    """Return a line for the size of a figure, and for each thing that is drawn."""
    width, height = figure.get_size_inches()
    said = [f"{width:g} by {height:g} at {figure.dpi:g}"]
    for axes in figure.axes:
        limits = *axes.get_xlim(), *axes.get_ylim()
        edges = [
            f"{name} {to_hex(one.get_edgecolor())}"
            for name, one in axes.spines.items()
            if one.get_visible()
        ]
        said += [
            f"axes {axes.get_title('left')!r}: {axes.get_xlabel()!r} by {axes.get_ylabel()!r}, "
            f"{numbers(limits)}",
            f"  ticks {numbers(axes.get_xticks())}: {words(axes.get_xticklabels())}, "
            f"{words(axes.get_yticklabels())}",
            f"  grid {shown(axes.xaxis)} {shown(axes.yaxis)}, "
            f"below {axes.get_axisbelow()}, aspect {axes.get_aspect()}",
            f"  edges {edges}",
        ]
        for line in axes.lines:
            of = line.get_linestyle(), line.get_marker(), line.get_markersize()
            points = numbers(np.ravel(line.get_xydata()))
            said.append(f"  line {line.get_label()!r} {of} {style(line)}: {points}")
        for patch in axes.patches:
            box = numbers(patch.get_bbox().bounds)
            said.append(f"  bar {to_hex(patch.get_facecolor())} {box}")
        for dots in axes.collections:
            paths = [numbers(np.ravel(path.vertices)) for path in dots.get_paths()]
            where = numbers(np.ravel(dots.get_offsets()))
            sizes = numbers(dots.get_sizes()) if hasattr(dots, "get_sizes") else paths
            colours = [to_hex(colour) for colour in dots.get_facecolor()]
            widths = numbers(dots.get_linewidths())
            said.append(f"  marks {colours} {sizes} {widths} {dots.get_alpha()}: {where}")
        for text in axes.texts:
            of = text.get_ha(), text.get_va(), text.get_fontsize(), text.get_color()
            at = numbers([*text.get_position(), *getattr(text, "xy", ())])
            said.append(f"  text {text.get_text()!r} {of} at {at}")
        if legend := axes.get_legend():
            sizes = {text.get_fontsize() for text in legend.get_texts()}
            said.append(f"  legend {words(legend.get_texts())} {sizes}")
    return "\n".join(said) + "\n"


def numbers(values):
    return " ".join(f"{float(value):.4g}" for value in values)


def words(texts):
    return [text.get_text() for text in texts]


def shown(axis):
    line = axis.get_gridlines()[0]
    return f"{line.get_visible()} {line.get_color()} {line.get_linewidth():g}"


def style(line):
    return line.get_color(), line.get_linewidth(), line.get_alpha()


def curve(*values):
    names = "val/rank_loss", "curve/train_rank_loss", "curve/test_rank_loss"
    return [(1000 * n, dict(zip(names, one, strict=False))) for n, one in enumerate(values)]


RISING = curve((0.3, 0.3, 0.32), (0.2, 0.1, 0.21), (0.25, 0.05, 0.3))
LEARNT = curve((0.2, 0.3, 0.4), (0.3, 0.2, 0.35))
LONG = [(1_500_000, {"val/rank_loss": 0.1}), (2_500_000, {"val/rank_loss": 0.08})]


def trial(mean, number=0, **settings):
    return {"round": number, "settings": settings, "mean": mean}


PICTURES = {
    "training": lambda: plots.training_curves(
        {f"row {n}": curve((0.3,), (0.2 - n / 100,)) for n in range(9)} | {"untrained": []}
    ),
    "long training": lambda: plots.training_curves({"one": LONG}),
    "no training": lambda: plots.training_curves({"one": [(5, {"train/hinge": 1.0})]}),
    "learning": lambda: plots.learning_curves(
        {"4 % of the pairs": {"U'V": RISING, "W": RISING[:2]}, "all pairs": {"U'V": LEARNT}}
    ),
    "bars": lambda: plots.bars(
        ["TF-IDF", "U'V + I"],
        {"rank_loss": [0.0162, 0.012], "map": [0.3, 0.42], "other": [1.5, float("nan")]},
        {"rank_loss": [0.001, 0.002], "map": [0.01, float("nan")], "other": [0, 0]},
        baseline="TF-IDF",
    ),
    "effects": lambda: plots.effects(
        [
            trial(0.2, margin=0.1, rates=[0.1, 0.3], view="raw"),
            trial(0.3, margin=0.3, rates=[0.1], view="raw"),
            trial(0.4, margin=0.1, rates=[0.1], view="raw"),
            trial(0.9, 1, margin=0.5, rates=[0.1], view="raw"),
        ],
        "map",
    ),
    "one effect": lambda: plots.effects([trial(0.2, margin=0.1), trial(0.4, margin=0.1)], "asked"),
    "scatter": lambda: plots.scatter(
        np.array([0.1, 0.5, 0.5, 0.9]), np.array([0.2, 0.5, 0.4, 1.0]), "TF-IDF", "U'V + I"
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_drawn_of_what_it_was(name):
    kept = SEEN / f"{name.replace(' ', '_')}.txt"
    assert described(PICTURES[name]()) == kept.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0"), (999, "999"), (1000, "1k"), (50_000, "50k"), (10**6, "1M"), (1_500_000, "1.5M")],
)
def test_counts_on_an_axis_are_short(count, said):
    assert plots._short(count) == said
