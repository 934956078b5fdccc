"""What a person sees of codes: a table for each measure."""

import io

from rich.console import Console

from ssi_core.guests.codes import commands


def test_curves_have_a_column_for_each_length_and_p_where_there_are_tests():
    def row(name, values, **more):
        curve = {n: {"precision": value, "recall": value / 2} for n, value in values.items()}
        return {"hasher": name, "curve": curve, **more}

    result = {
        "collection": "news", "train": 12_000, "test": 1_000, "classes": 20, "radius": 1,
        "measures": ["precision", "recall"], "lengths": [8, 16], "tested_bits": 16,
        "baseline": "lsh",
        "rows": [
            row("lsh", {"8": 0.5, "16": 0.25}),
            row("sth", {"8": 0.75, "16": 1.0}, tests={"precision": {"p_holm": 0.0123}}),
        ],
    }  # fmt: skip
    out = io.StringIO()
    commands._show_curves(Console(file=out, width=120), result)
    lines = [line.split() for line in out.getvalue().splitlines() if "─" not in line]
    head = "news: 12,000 training texts, 1,000 test texts, 20 classes, radius 1"
    assert lines[0] == head.split()
    assert lines[1:9] == [
        [],
        ["precision", "8", "bits", "16", "bits", "p"],
        ["lsh", "0.500", "0.250"],
        ["sth", "0.750", "1.000", "0.012"],
        [],
        ["recall", "8", "bits", "16", "bits"],
        ["lsh", "0.250", "0.125"],
        ["sth", "0.375", "0.500"],
    ]
    assert " ".join(lines[9]) == (
        "p: sign test over the test texts at 16 bits against lsh, two-sided, corrected by Holm "
        "over the methods"
    )
