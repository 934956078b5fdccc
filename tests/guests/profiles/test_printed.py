"""What a person sees of profiles: a table for each band, and what the codes cost."""

import io

from rich.console import Console

from ssi_core.guests.profiles import commands


def printed(show, *given):
    out = io.StringIO()
    show(Console(file=out, width=110), *given)
    return [line.rstrip() for line in out.getvalue().splitlines() if "─" not in line]


def test_the_codes_of_users_are_said_in_bits_and_tokens():
    bits = {"all": {"mean": 0.12345, "within": 0.256}, "the cluster": {"mean": 2, "within": 1}}
    codes = {"bits": bits, "tokens": {"raw": 12.34, "all": 5.67, "cluster": 0.05}}
    assert printed(commands._show_codes, codes) == [
        "  user against all              0.123 bits, 26% of the users within 0.7",
        "  user against the cluster      2.000 bits, 100% of the users within 0.7",
        "  tokens of a user: 12.3, kept against all 5.7, against the cluster 0.1",
    ]


def test_a_comparison_has_a_table_for_each_band_beside_the_print():
    def row(label, bands, clusters=5):
        return {"label": label, "bands": bands, "chosen": {"C": 0.5, "clusters": clusters}}

    of_raw = {"auc": 0.61236, "se": 0.01236, "targets": 7}
    of_profile = {**of_raw, "auc": 0.7, "wins": 0.756, "p_holm": 0.0345}
    result = {
        "collection": "log", "tokens": 1500, "users": {"train": 2000, "valid": 1001, "test": 1000},
        "printed": {
            "10-100": {"base_auc": 0.602, "auc": 0.645, "wins": 0.8},
            "100-": {"base_auc": 0.5, "auc": 0.5, "wins": 0.25},
        },
        "rows": [
            row("raw events", {"10-100": of_raw}),
            row("profile", {"10-100": of_profile}, clusters=1),
        ],
    }  # fmt: skip
    lines = [line.split() for line in printed(commands._show, result)]
    head = "log: users 2,000 to train, 1,001 to choose, 1,000 to test; 1,500 tokens"
    assert lines[:2] == [head.split(), []]
    assert lines[2:7] == [
        ["7", "documents,", "10-100", "clicks", "AUC", "wins", "p"],
        ["raw", "events", "0.6124", "±0.0124"],
        ["profile", "0.7000", "±0.0124", "76%", "0.035"],
        ["paper:", "raw", "events", "0.60"],
        ["paper:", "with", "profile", "0.65", "80%"],
    ]
    assert lines[7:11] == [
        [],
        ["0", "documents,", "100-", "clicks", "AUC", "wins", "p"],
        ["paper:", "raw", "events", "0.50"],
        ["paper:", "with", "profile", "0.50", "25%"],
    ]
    assert [" ".join(line) for line in lines[11:13]] == [
        "raw events: C 0.5, 5 clusters",
        "profile: C 0.5, 1 clusters",
    ]
