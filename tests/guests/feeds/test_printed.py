"""What a person sees of feeds: the sets that validation chose, beside the print."""

import io

from rich.console import Console

from ssi_core.guests.feeds import commands
from ssi_core.guests.feeds.printed import PRINTED


def test_a_set_has_its_entries_measures_and_what_the_paper_prints_of_it():
    measured = {"precision": 0.5, "recall": 0.25, "f": 1 / 3, "f_folds_se": 0.0123}
    result = {
        "collection": "mine", "feeds": 3000, "topics": 40, "pairs": 5000, "pairs_with_a_word": 1200,
        "printed": PRINTED, "baseline": ["FT+FD+ED", 40],
        "rows": [
            {"elements": "FT", "entries": 0, "best": True, **measured},
            {"elements": "FT+FD+ED", "entries": 40, "best": False, **measured},
            {"elements": "chosen", "entries": 80, "test": {"p_holm": 0.0421}, **measured},
        ],
    }  # fmt: skip
    out = io.StringIO()
    commands._show(Console(file=out, width=140), result)
    lines = [line.split() for line in out.getvalue().splitlines() if "─" not in line]
    head = "mine: 3,000 feeds, 40 topics, 5,000 pairs, 1,200 with a topic's words"
    ours = ["0.500", "0.250", "0.333", "±0.012"]
    assert lines[:4] == [
        head.split(),
        ["elements", "n", "P", "R", "F", "se", "p", "paper", "P", "R", "F"],
        ["FT", *ours, "0.977", "0.396", "0.557"],
        ["chosen", "80", *ours, "0.042"],
    ]
    assert " ".join(" ".join(line) for line in lines[4:]).startswith(
        "n: entries, chosen on validation. p: paired randomisation over topics of their F against "
        "FT+FD+ED with 40 entries, corrected by Holm."
    )
    assert {name: len(rows) for name, rows in PRINTED.items()} == {"table_1": 28, "table_2": 15}
    assert PRINTED["table_1"][4] == {
        "elements": "ET", "entries": 80, "precision": 0.946, "recall": 0.418, "f": 0.58,
    }  # fmt: skip
