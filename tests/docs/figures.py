"""A figure of a page: an expression about a result file, and the text that stands for it.

    "ROW" MEASURE [mean | se | sd | paper | signed]
    "ROW" queries | seeds | triples
    "ROW" chosen SETTING
    "ROW" slice SLICE MEASURE
    "ROW" "OTHER" MEASURE p | holm
    claims [distinct | like | own | stand-ins | apart | holds | reversed | undecided | open]
           [t-holds | t-reversed | t-undecided] ["ROW" ...]
    detectable MEASURE
    comparison | queries | seeds

Rows are named by their labels. `docs/numbers.md` explains it to those who write pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from flows.reporting import result_file
from flows.reporting.report import better_than_baseline
from flows.reporting.verdicts import by_t, detectable, probability, stand_ins
from ssi_core.evaluation.claims import APART
from ssi_core.evaluation.comparison import digits, value_text
from ssi_core.evaluation.measures import TITLES
from ssi_core.face.show import count
from ssi_core.strict import instead
from ssi_core.types import BadInput

RESULTS = Path("docs/results")
EARLIER = "earlier.txt"
"""Tables whose code has changed since they were computed; ``python -m tests.docs`` writes it."""
_OF_THE_WHOLE = ("claims", "detectable", "comparison", "queries", "seeds")
_WORDS = re.compile(r'"[^"]*"|[^\s"]+')

_APART = {*APART}
_COUNTED = {
    "like": lambda claim: claim["verdict"] not in _APART,
    "own": lambda claim: claim["verdict"] not in _APART and not stand_ins(claim),
    "stand-ins": lambda claim: claim["verdict"] not in _APART and bool(stand_ins(claim)),
    "apart": lambda claim: claim["verdict"] in _APART,
    "unlike": lambda claim: claim["verdict"] == "not like with like",
    "same": lambda claim: claim["verdict"] == "same system",
    "holds": lambda claim: claim["verdict"] == "holds",
    "reversed": lambda claim: claim["verdict"] == "reversed",
    "undecided": lambda claim: claim["verdict"] == "not decided",
    "open": lambda claim: claim["verdict"] in ("reversed", "not decided"),
    "t-holds": lambda claim: by_t(claim) == "holds",
    "t-reversed": lambda claim: by_t(claim) == "reversed",
    "t-undecided": lambda claim: by_t(claim) == "not decided",
}


class MissingResult(BadInput):
    """A result file is not there; ``name`` is that of the result."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{RESULTS / path.name} is missing. Compute its table, then ssi compare TABLE --save "
            f"{RESULTS / path.name}"
        )
        self.name = path.stem


class Result:
    """A result file, asked by expressions."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self.found = result_file.load(path)
        self._rows = {row["label"]: row for row in self.found["summary"]}
        self._printed = {row["label"]: row for row in self.found["printed"]}

    def figure(self, words: Sequence[str], unit: bool = True) -> str:
        """Return the text of an expression.

        Parameters
        ----------
        words : of the expression; labels keep their quotation marks
        unit : write the per cent of a rank loss
        """
        if not words:
            raise BadInput("a figure says what it is of: a row and a measure, or claims")
        if words[0] == "claims":
            return self._claims(words[1:])
        if words[0] == "detectable":
            return self._detectable(words[1:])
        if len(words) == 1 and words[0] in ("comparison", "queries", "seeds"):
            return self._whole(words[0])
        if not words[0].startswith('"'):
            raise BadInput(
                f'{words[0]!r}: expected "ROW", claims, detectable, comparison, queries or seeds'
            )
        label, rest = _label(words[0]), words[1:]
        if rest and rest[0].startswith('"'):
            return self._test(label, _label(rest[0]), rest[1:])
        if rest and rest[0] in ("queries", "seeds", "triples"):
            _no_more(rest[1:])
            number = self.row(label)[rest[0]]
            return count(number) if rest[0] == "triples" else f"{number:,}"
        if rest and rest[0] == "chosen":
            return self._chosen(label, rest[1:])
        if rest and rest[0] == "slice":
            return self._slice(label, rest[1:], unit)
        return self._measure(label, rest, unit)

    def row(self, label: str) -> dict:
        """Return a row of the comparison."""
        if label not in self._rows:
            raise BadInput(f"{self.name} has no row {instead(label, self._rows)}")
        return self._rows[label]

    @cached_property
    def _signs(self) -> dict:
        return better_than_baseline(self.found)

    def _measure(self, label: str, words: Sequence[str], unit: bool) -> str:
        name, field = _one_or_two(words, "a measure, and mean, se, sd, paper or signed")
        per_cent = " %" if unit and "rank_loss" in name else ""
        if field == "paper":
            paper = (self._printed.get(label) or self.row(label))["paper"]
            value = value_text(name, paper.get(name), paper.get(f"{name}_se"))
            return value + per_cent if value else ""
        measures = self.row(label)["measures"]
        if name not in measures:
            raise BadInput(f"row {label!r} has no measure {instead(name, measures)}")
        mean, se, sd = (measures[name][key] for key in ("mean", "se", "sd_seeds"))
        texts: dict[str, Callable[[], str]] = {
            "": lambda: value_text(name, mean, se),
            "signed": lambda: self._signs.get((label, name), "") + value_text(name, mean, se),
            "mean": lambda: value_text(name, mean),
            "se": lambda: "" if se is None else _short(digits(name, se, like=mean)),
            "sd": lambda: "" if sd is None else _short(digits(name, sd, like=mean)),
        }
        if field not in texts:
            raise BadInput(f"{field!r} after a measure: expected mean, se, sd, paper or signed")
        text = texts[field]()
        return text + per_cent if text else ""

    def _test(self, one: str, other: str, words: Sequence[str]) -> str:
        name, field = _one_or_two(words, "a measure, and p or holm")
        self.row(one), self.row(other)
        key = {"p": "p", "holm": "p_adjusted"}.get(field)
        if key is None:
            raise BadInput(f"{field!r} after two rows and a measure: expected p or holm")
        tests = [
            *((*_tested(c), c["measure"], c) for c in self.found["claims"]),
            *((t["a"], t["b"], t["metric"].removeprefix("test/"), t) for t in self.found["tests"]),
        ]
        for first, second, measure, test in tests:
            pair = {first, second} == {one, other}
            if pair and measure == name and test[key] is not None:
                return probability(test[key], test["bound"])
        raise BadInput(
            f"{self.name} has no test of {one!r} and {other!r} in {name}; make it a claim of the "
            "table, or name another pair"
        )

    def _chosen(self, label: str, words: Sequence[str]) -> str:
        chosen = self.row(label)["chosen"]
        if len(words) != 1 or words[0] not in chosen:
            raise BadInput(f"row {label!r} chose no {instead(' '.join(words), chosen)}")
        return f"{float(chosen[words[0]]):g}"

    def _slice(self, label: str, words: Sequence[str], unit: bool) -> str:
        slices = self.row(label)["slices"]
        if len(words) != 2 or words[0] not in slices:
            raise BadInput(
                f"row {label!r} has no slice and measure {instead(' '.join(words), slices)}"
            )
        values, name = slices[words[0]], words[1]
        text = value_text(name, values.get(name), values.get(f"{name}_se"))
        return text + (" %" if unit and "rank_loss" in name else "")

    def _claims(self, words: Sequence[str]) -> str:
        claims = list(self.found["claims"])
        if any(word.startswith("t-") for word in words) and not any(map(by_t, claims)):
            return ""  # saved before claims had a t test
        labels = {_label(word) for word in words if word.startswith('"')}
        for label in labels:
            self.row(label)
        kinds = [word for word in words if not word.startswith('"')]
        for kind in kinds:
            if kind != "distinct" and kind not in _COUNTED:
                raise BadInput(f"no kind of claims {instead(kind, ['distinct', *_COUNTED])}")
            claims = [claim for claim in claims if kind == "distinct" or _COUNTED[kind](claim)]
        if labels:
            claims = [claim for claim in claims if {claim["above"], claim["below"]} & labels]
        if "distinct" in kinds:
            return str(len({(*claim["systems"], claim["measure"]) for claim in claims}))
        return str(len(claims))

    def _detectable(self, words: Sequence[str]) -> str:
        """Write the smallest difference of a measure; results that were saved before have none."""
        found = detectable(self.found["claims"])
        if len(words) != 1 or (found and words[0] not in found):
            raise BadInput(f"{self.name} has no difference of {instead(' '.join(words), found)}")
        return digits(words[0], found[words[0]], like=1) if found else ""

    def _whole(self, what: str) -> str:
        if what == "comparison":
            return f"`{self.found['comparison']}`"
        return between([row[what] for row in self.found["summary"]])


class Results:
    """The result files of a directory, read when they are first asked."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._read: dict[str, Result] = {}

    def __getitem__(self, name: str) -> Result:
        if name not in self._read:
            path = self.directory / f"{name}.json"
            if not path.exists():
                raise MissingResult(path)
            self._read[name] = Result(path)
        return self._read[name]

    @cached_property
    def earlier(self) -> set[str]:
        """Return the names of the tables whose code has changed since, as `EARLIER` lists them."""
        path = self.directory / EARLIER
        return set(path.read_text(encoding="utf-8").split()) if path.exists() else set()

    def named(self, expression: str, default: str | None = None) -> tuple[Result, list[str]]:
        """Divide an expression into its result, named or the default, and its other words."""
        words = _WORDS.findall(expression)
        if default is None or (words and self._names_a_result(words[0])):
            if not words:
                raise BadInput("no result is named")
            return self[words[0]], words[1:]
        return self[default], words

    def _names_a_result(self, word: str) -> bool:
        return not word.startswith('"') and word not in _OF_THE_WHOLE


def between(numbers: Sequence[int]) -> str:
    """Write numbers as one, or as the least and the largest: ``1 to 3``."""
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def title(measure: str) -> str:
    """Return the heading of a measure."""
    if measure not in TITLES:
        raise BadInput(f"no measure {instead(measure, TITLES)}")
    return TITLES[measure]


def _tested(claim: dict) -> tuple[str, str]:
    """Return the rows that a claim was tested on: its own, or their stand-ins."""
    above, below = claim.get("rows", (claim["above"], claim["below"]))
    return above, below


def _label(word: str) -> str:
    return word.removeprefix('"').removesuffix('"')


def _short(number: str) -> str:
    return number.removeprefix("0")


def _no_more(words: Sequence[str]) -> None:
    if words:
        raise BadInput(f"{' '.join(words)!r} is too much")


def _one_or_two(words: Sequence[str], expected: str) -> tuple[str, str]:
    if not 1 <= len(words) <= 2:
        raise BadInput(f"{' '.join(words)!r}: expected {expected}")
    title(words[0])
    return words[0], words[1] if len(words) == 2 else ""
