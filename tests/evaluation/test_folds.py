import dataclasses

import numpy as np
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.folds import fold_of, pooled
from ssi_core.evaluation.measures import MEASURES
from ssi_core.types import BadInput, Pairs
from tests.evaluation.toy import Lookup, random_task


def folds(task):
    """The test side of a task in three parts, by query; what is learnt from is of no query."""
    nothing = Pairs.of(())
    for fold in range(3):
        test = task.test.take(task.test.rows[:, 0] % 3 == fold)
        yield dataclasses.replace(task, train=nothing, valid=nothing, test=test)


def test_folds_together_are_the_whole():
    task = random_task(np.random.default_rng(0), queries=40, documents=30)
    task = dataclasses.replace(task, train=Pairs.of(()), valid=Pairs.of(()))
    parts = [evaluate(Lookup(), part, tuples=4000) for part in folds(task)]
    whole, joined = evaluate(Lookup(), task, tuples=4000), pooled(parts)
    assert joined.per_query.equals(whole.per_query)
    for name in MEASURES:
        assert joined.means[name] == pytest.approx(whole.means[name])
        assert joined.errors[name] == pytest.approx(whole.errors[name])
    assert joined.bounds == pytest.approx(whole.bounds)
    # What is estimated of a fold as a whole is a mean over the folds by their queries.
    tuples, shares = (
        "rank_loss_tuples",
        [len(part.per_query) / len(joined.per_query) for part in parts],
    )
    means, errors = ([getattr(part, of)[tuples] for part in parts] for of in ("means", "errors"))
    assert len({*shares}) > 1
    assert joined.means[tuples] == pytest.approx(np.dot(shares, means))
    assert joined.errors[tuples] == pytest.approx(np.linalg.norm(np.multiply(shares, errors)))
    assert abs(joined.means[tuples] - joined.means["rank_loss"]) < 3 * joined.errors[tuples]


def test_one_fold_is_itself():
    task = random_task(np.random.default_rng(1))
    report = evaluate(Lookup(), task, tuples=0)
    assert pooled([report]) is report


def test_a_query_in_two_folds_and_no_fold_are_refused():
    report = evaluate(Lookup(), random_task(np.random.default_rng(2)), tuples=0)
    with pytest.raises(ValueError, match="each query once"):
        pooled([report, report])
    with pytest.raises(ValueError, match="none came"):
        pooled([])


def test_the_fold_of_a_task_is_named_where_there_are_some():
    whole = random_task(np.random.default_rng(3))
    parts = tuple(folds(whole))
    divided = dataclasses.replace(whole, folds=parts)
    assert fold_of(whole, None) is whole
    assert [fold_of(divided, number) for number in (1, 2, 3)] == [*parts]
    with pytest.raises(BadInput, match=r"in 3 folds, .* Name its fold, 1 to 3 \(--fold\)"):
        fold_of(divided, None)
    for task, number, why in (
        (divided, 0, "1 to 3"),
        (divided, 4, "1 to 3"),
        (whole, 1, "it has no folds"),
    ):
        with pytest.raises(BadInput, match=f"it has no fold {number}; .*{why}"):
            fold_of(task, number)
