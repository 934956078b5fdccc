"""Settings that differ from the first in one thing."""

from ssi_core.selection.star import best_of_each, joined, star

FACTORS = (
    ({"rate": 1}, {"rate": 2}),
    ({"view": "raw"}, {"view": "bm25"}, {"view": "sublinear"}),
    ({}, {"auxiliary": "titles"}),
)


def test_one_thing_differs_and_second_values_come_first():
    places = star([len(factor) for factor in FACTORS])
    assert [joined(FACTORS, place) for place in places] == [
        {"rate": 1, "view": "raw"},
        {"rate": 2, "view": "raw"},
        {"rate": 1, "view": "bm25"},
        {"rate": 1, "view": "raw", "auxiliary": "titles"},
        {"rate": 1, "view": "sublinear"},
    ]


def test_the_best_of_each_thing_is_found_where_things_add_up():
    worth = ((0.0, -1.0), (0.0, 0.5, 2.0), (0.0, 1.0))
    means = {
        place: sum(worth[n][value] for n, value in enumerate(place)) for place in star([2, 3, 2])
    }
    assert best_of_each(means, {}) == (0, 2, 1)
    assert best_of_each(means, {0: [1]}) == (1, 2, 1)


def test_what_was_not_begun_is_not_chosen():
    assert best_of_each({(0, 0): 1.0, (1, 0): 2.0}, {}) == (1, 0)
