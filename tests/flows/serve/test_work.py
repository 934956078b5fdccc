"""Questions that are answered together."""

import asyncio
import threading

import pytest
from fastapi import HTTPException

from flows.serve import work as module
from flows.serve.work import Work
from ssi_core.serving.searcher import open_searcher
from tests.flows.services import BILINEAR, write_model

TEXTS = ["car moon", "wheel road", "unheard", "planet", "car moon", "rocket engine wheel"]


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    return open_searcher(write_model(BILINEAR, tmp_path_factory.mktemp("model")))


class Asked:
    """A searcher that keeps what it was asked, and cannot answer some texts."""

    def __init__(self, searcher, bad=()):
        self.searcher, self.bad, self.calls = searcher, bad, []

    def search(self, texts, k=10, language=None, **how):
        self.calls.append((list(texts), k, language))
        if set(self.bad) & set(texts):
            raise ValueError("bad")
        return self.searcher.search(texts, k, language, **how)


def asked(*questions):
    """Answers to questions that all come while the one thread is busy."""

    async def run():
        work, busy = Work(1), threading.Event()
        held = asyncio.ensure_future(work(lambda: busy.wait(30)))
        questions_asked = [asyncio.ensure_future(work.search(*question)) for question in questions]
        await asyncio.sleep(0)
        busy.set()
        await held
        try:
            return await asyncio.gather(*questions_asked, return_exceptions=True)
        finally:
            work.end()

    return asyncio.run(run())


def test_questions_that_wait_are_answered_together_as_each_by_itself(searcher):
    own = Asked(searcher)
    for text, answer in zip(TEXTS, asked(*((own, text, 3) for text in TEXTS)), strict=True):
        assert answer == searcher.search([text], 3)[0]
    assert own.calls == [(TEXTS, 3, None)]


def test_only_questions_that_are_alike_are_answered_together(searcher):
    one, other = Asked(searcher), Asked(searcher)
    questions = [(one, "car", 3), (other, "car", 3), (one, "car", 2), (one, "car", 3, "en")]
    found = asked(*questions, (one, "moon", 3))
    assert [len(answer.hits) for answer in found] == [3, 3, 2, 3, 3]
    assert one.calls == [(["car", "moon"], 3, None), (["car"], 2, None), (["car"], 3, "en")]
    assert other.calls == [(["car"], 3, None)]


def test_no_more_are_answered_together_than_agreed(searcher, monkeypatch):
    monkeypatch.setattr(module, "_TOGETHER", 4)
    own = Asked(searcher)
    assert len(asked(*((own, text, 3) for text in TEXTS))) == len(TEXTS)
    assert [texts for texts, *_ in own.calls] == [TEXTS[:4], TEXTS[4:]]


def test_one_that_fails_does_not_fail_the_others(searcher):
    found = asked(*((Asked(searcher, ["planet"]), text, 3) for text in TEXTS[:1]))
    assert found[0].hits
    own = Asked(searcher, ["planet"])
    found = asked(*((own, text, 3) for text in TEXTS))
    assert [text for text, one in zip(TEXTS, found, strict=True) if isinstance(one, Exception)] == [
        "planet"
    ]
    assert isinstance(found[3], ValueError)
    assert found[0] == searcher.search(TEXTS[:1], 3)[0]


def test_a_question_is_not_held_back_for_others(searcher):
    async def run():
        work, own = Work(2), Asked(searcher)
        for text in TEXTS[:2]:
            assert (await work.search(own, text, 3)).hits
        work.end()
        return own.calls

    assert asyncio.run(run()) == [([TEXTS[0]], 3, None), ([TEXTS[1]], 3, None)]


def test_whoever_has_gone_is_not_answered(searcher):
    async def run():
        work, own, busy = Work(1), Asked(searcher), threading.Event()
        held = asyncio.ensure_future(work(lambda: busy.wait(30)))
        gone, stays = (asyncio.ensure_future(work.search(own, text, 3)) for text in TEXTS[:2])
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        busy.set()
        await held
        assert (await stays).hits
        assert work._pieces == 0
        assert not work._questions
        work.end()

    asyncio.run(run())


def test_too_many_are_refused_and_the_others_answered(searcher, monkeypatch):
    monkeypatch.setattr(module, "_WAITING", 3)
    found = asked(*((searcher, text, 3) for text in TEXTS))
    assert [isinstance(one, HTTPException) for one in found] == [False] * 2 + [True] * 4
    assert found[2].status_code == 429
