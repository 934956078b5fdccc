"""What a training is expected to gain follows from the tables of the results."""

from pathlib import Path

from benchmarks import expect
from ssi_core.selection.expectation import PRIORS

RESULTS = Path(__file__).parents[2] / "docs/results"


def test_the_priors_are_the_lines_of_the_results():
    rows = expect.gains(RESULTS / "expect.json", RESULTS / "auto.json")
    lines = dict(line.split(": ") for line in expect.lines(rows) if not line.startswith(" "))
    assert lines == {
        kind: f"at 1,000 {line.at_thousand:.3f}, tenfold {line.per_tenfold:.3f}, "
        f"spread {line.spread:.3f}"
        for kind, line in PRIORS.items()
    }
