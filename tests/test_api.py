"""The Python API: typed input, limits, stopping, one bad text, settings by call, streams, several threads."""

import inspect
import itertools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from translators import small_api

from mt.api import Translator
from mt.errors import DivergedError, SearchStoppedError, UserError
from mt.fast.workers import in_threads
from mt.translation.limits import Limits
from mt.translation.segments import Translation

TEXTS = ["house tree", "river", "the garden in the morning", "bread"]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return small_api(tmp_path_factory.mktemp("api"))


def texts_of(found: Sequence[Any]) -> list[list[str]]:
    return [[one.text, *(other.text for other in one.others)] for one in found]


@pytest.mark.parametrize(
    ("texts", "named"),
    [
        ([None], r"texts\[0\] is of type NoneType"),
        (["a", b"b"], r"texts\[1\] is of type bytes"),
        (b"a", "not one text"),
    ],
)
def test_what_is_not_text_is_refused_in_one_clear_error(translator: Translator, texts: Any, named: str) -> None:
    for call in (Translator.translate, Translator.translate_each):
        with pytest.raises(TypeError, match=named):
            inspect.unwrap(call)(translator, texts)  # without the tests' own check of types


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(texts=3), "4 texts: more than the limit of 3"),
        (Limits(characters=44), "45 characters: more than the limit of 44"),
        (Limits(subwords=5), "subwords: more than the limit of 5"),
    ],
)
def test_a_limit_is_an_error_before_work_begins(translator: Translator, limits: Limits, message: str) -> None:
    limited = Translator(translator._lines, decoding=translator._decoding, byte_fallback=True, limits=limits)
    with mock.patch.object(type(translator._lines), "translate_all") as work, pytest.raises(UserError, match=message):
        limited.translate(TEXTS)
    assert not work.called
    enough = Limits(texts=4, characters=45, subwords=200)
    Translator(translator._lines, decoding=translator._decoding, byte_fallback=True, limits=enough).check(TEXTS)


def test_the_width_of_a_search_is_limited(translator: Translator) -> None:
    limits = Limits(beam_size=4, n_best=2)
    limited = Translator(translator._lines, decoding=translator._decoding, byte_fallback=True, limits=limits)
    limited.with_settings(decoding={"beam_size": 4}, n_best=2)
    with pytest.raises(UserError, match=r"5 hypotheses of decoding.beam_size: more than the limit of 4"):
        limited.with_settings(decoding={"beam_size": 5})
    with pytest.raises(UserError, match=r"3 hypotheses of n_best: more than the limit of 2"):
        limited.with_settings(n_best=3)


def test_settings_of_a_call_share_the_prepared_weights(translator: Translator) -> None:
    greedy = translator.with_settings(decoding={"beam_size": 1})
    wide = translator.with_settings(n_best=3, alignments=True)
    assert greedy._lines.decoders is wide._lines.decoders is translator._lines.decoders
    assert [len(one.others) for one in wide.translate(TEXTS)] == [2] * 4
    assert wide.translate(["house tree"])[0].alignment
    assert greedy.translate(["house tree"])[0].alignment is None
    assert greedy._lines.search.beam_size == 1
    plain = translator.with_settings(decoding={"as_typed": False})
    with pytest.raises(UserError, match=r"decoding.as_typed: load the run with it"):
        plain.with_settings(decoding={"as_typed": True})
    with pytest.raises(UserError, match=r"decoding.precision: the weights are fp32"):
        translator.with_settings(decoding={"precision": "int8"})
    with pytest.raises(UserError, match="load the run with alignments=True"):
        greedy.with_settings(alignments=True)


def test_a_search_asks_once_a_step_whether_to_stop(translator: Translator) -> None:
    asked: list[int] = []

    def after(count: int) -> bool:
        asked.append(count)
        return len(asked) > count

    [whole] = translator.with_settings(decoding={"beam_size": 1}).translate(["house"], stop=lambda: after(1000))
    assert len(asked) == len(whole.tokens) + 1
    for call in (translator.translate, translator.translate_each):
        asked.clear()
        with pytest.raises(SearchStoppedError):
            call(["the garden in the morning"], stop=lambda: after(2))
        assert len(asked) == 3


@pytest.mark.parametrize("error", [DivergedError("no finite scores"), KeyError(3)])
def test_one_bad_text_fails_alone(translator: Translator, error: Exception) -> None:
    lines = type(translator._lines)
    translate_all = lines.translate_all

    def diverges(self: Any, texts: list[str], **options: Any) -> list[Translation]:
        if "river" in texts:
            raise error
        return translate_all(self, texts, **options)

    with mock.patch.object(lines, "translate_all", diverges):
        found = translator.translate_each(TEXTS)
    assert found[1] is error
    expected = translator.translate([text for text in TEXTS if text != "river"])
    assert texts_of([found[0], *found[2:]]) == texts_of(expected)


def test_a_stream_is_read_as_it_is_translated(translator: Translator) -> None:
    read: list[str] = []
    endless = (read.append(text) or text for text in itertools.cycle(TEXTS))
    stream = translator.translate_stream(endless)
    found = [next(stream)]
    assert read == TEXTS[:1]
    found += itertools.islice(stream, 3)
    assert texts_of(found) == texts_of(translator.translate(TEXTS))
    with pytest.raises(TypeError, match="is of type int"):
        list(translator.translate_stream(iter(["a", 1])))
    with pytest.raises(TypeError, match="not one text"):
        translator.translate_stream("a")


def test_threads_share_a_translator_and_leave_the_process_as_it_was(translator: Translator) -> None:
    ways = [translator, translator.with_settings(decoding={"beam_size": 2}), translator.with_settings(n_best=2)]
    expected = [texts_of(way.translate(TEXTS)) for way in ways]
    found: dict[int, list[list[str]]] = {}
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        threads = [
            threading.Thread(target=lambda n=number: found.update({n: texts_of(ways[n % 3].translate(TEXTS))}))
            for number in range(9)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert found == {number: expected[number % 3] for number in range(9)}


@pytest.mark.parametrize("own_threads", [1, 2])
def test_searches_of_several_threads_take_turns_unless_torch_has_one_thread(own_threads: int) -> None:
    together = threading.Barrier(2)
    met: list[bool] = []

    def work() -> None:
        try:
            together.wait(timeout=10 if own_threads == 1 else 0.1)
            met.append(True)
        except threading.BrokenBarrierError:
            met.append(False)

    def search() -> None:
        torch.set_num_threads(own_threads)
        in_threads(work, [()], threads=1)

    before = torch.get_num_threads()
    try:
        threads = [threading.Thread(target=search) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        torch.set_num_threads(before)
    assert met == [own_threads == 1] * 2


def test_a_run_is_loaded_with_limits(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        Translator.from_run(tmp_path / "nowhere", limits=Limits(texts=1))
