from flows.reporting import plots

CURVE = [
    (0, {"val/rank_loss": 0.50, "curve/train_rank_loss": 0.50, "curve/test_rank_loss": 0.51}),
    (1000, {"val/rank_loss": 0.10, "curve/train_rank_loss": 0.08, "curve/test_rank_loss": 0.12}),
    (2000, {"val/rank_loss": 0.20, "curve/train_rank_loss": 0.01, "curve/test_rank_loss": 0.19}),
]


def test_learning_curves_draw_both_sides_and_where_training_stops():
    panels = {"1 %": {"N = 50": CURVE, "N = 100": CURVE[:2]}, "100 %": {"N = 50": CURVE}}
    figure = plots.learning_curves(panels)
    first, second = figure.axes
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("1 %", "100 %")
    train, test, stop = first.lines[:3]
    assert list(train.get_ydata()) == [50, 8, 1]
    assert list(test.get_ydata()) == [51, 12, 19]
    assert (list(stop.get_xdata()), list(stop.get_ydata())) == ([1000], [12])
    assert first.get_ylim() == second.get_ylim()
    assert len(first.lines) == 6
    assert len(second.lines) == 3
    labels = [text.get_text() for text in second.get_legend().get_texts()]
    assert labels == ["N = 50, train", "N = 50, test"]
