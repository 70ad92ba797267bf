from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.run import RunRequest
from fsconsole.model.wire import Mismatch, Wire, decode, decode_whole, encode


class Colour(str, Enum):
    RED = "red"
    GREEN = "green"


class Leaf(Wire, frozen=True):
    name: str
    size_bytes: int
    share: float
    colour: Colour
    pair: tuple[str, int] = ("", 0)
    maybe: float | None = None


class Tree(Wire, frozen=True):
    leaves: tuple[Leaf, ...]
    inner: Leaf | None
    words: tuple[tuple[str, ...], ...]
    on: bool


INTEGERS = st.integers(min_value=-(2**63), max_value=2**64 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.builds(
    Leaf,
    name=st.text(),
    size_bytes=INTEGERS,
    share=FLOATS,
    colour=st.sampled_from(Colour),
    pair=st.tuples(st.text(), INTEGERS),
    maybe=st.none() | FLOATS,
)
TREES = st.builds(
    Tree,
    leaves=st.lists(LEAVES, max_size=3).map(tuple),
    inner=st.none() | LEAVES,
    words=st.lists(st.lists(st.text(), max_size=3).map(tuple), max_size=3).map(tuple),
    on=st.booleans(),
)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(TREES)
def test_whatever_is_encoded_decodes_to_the_same_value(tree: Tree) -> None:
    assert decode(Tree, encode(tree)) == tree


@given(st.binary().map(os.fsdecode))
def test_a_name_that_is_not_utf_8_survives(name: str) -> None:
    leaf = Leaf(name, 1, 1.0, Colour.RED)
    assert decode(Leaf, encode(leaf)) == leaf


@given(DOCUMENTS)
def test_any_other_document_is_a_mismatch_and_nothing_else(document: object) -> None:
    with pytest.raises(Mismatch):
        decode(Tree, json.dumps(document))


@given(st.text())
def test_any_other_text_is_a_mismatch_and_nothing_else(text: str) -> None:
    with pytest.raises(Mismatch):
        decode(Tree, text)


def test_a_whole_request_survives_and_names_no_classes(make_request) -> None:
    request = make_request()
    assert decode(RunRequest, encode(request)) == request
    assert not re.findall(r'"_[^"]*":', encode(request))


LEAF = {"name": "a", "size_bytes": 1, "share": 0.5, "colour": "red"}


@pytest.mark.parametrize(
    ("changes", "where", "problem"),
    [
        ({"size_bytes": True}, ".size_bytes", "Expected `int`"),
        ({"size_bytes": 1.0}, ".size_bytes", "Expected `int`"),
        ({"size_bytes": 2**64}, ".size_bytes", "Expected `int`"),
        ({"share": "1"}, ".share", "Expected `float`"),
        ({"share": 10**400}, ".share", "TooLarge"),
        ({"name": None}, ".name", "Expected `str`"),
        ({"colour": "blue"}, ".colour", "Invalid enum value 'blue'"),
        ({"colour": ["red"]}, ".colour", "Expected `str`"),
        ({"pair": ["a"]}, ".pair", "array` of length 2"),
        ({"pair": ["a", "b"]}, ".pair[1]", "Expected `int`"),
        ({"maybe": "x"}, ".maybe", "Expected `float . null`"),
        ({"size_bytes": "\ud800"}, "", "a text stands where none may"),
        ({"colour": "\ud800"}, "", "a text stands where none may"),
        ({"__class__": "os.system"}, "", "unknown field `__class__`"),
    ],
)
def test_each_wrong_value_is_named_with_its_place(changes: dict[str, object], where: str, problem: str) -> None:
    with pytest.raises(Mismatch, match=problem) as caught:
        decode(Leaf, json.dumps(LEAF | changes))
    assert caught.value.where == where


def test_a_missing_field_is_a_mismatch_unless_it_has_a_default() -> None:
    assert decode(Leaf, json.dumps(LEAF)).pair == ("", 0)
    with pytest.raises(Mismatch, match="missing"):
        decode(Leaf, json.dumps({key: value for key, value in LEAF.items() if key != "share"}))


def test_a_whole_document_lacks_no_key_at_any_depth() -> None:
    tree = {"leaves": [], "inner": {**LEAF, "pair": ["", 0], "maybe": None}, "words": [], "on": True}
    assert decode_whole(Tree, json.dumps(tree)) == decode(Tree, json.dumps(tree))
    with pytest.raises(Mismatch, match=r"inner: .*missing.*pair"):
        decode_whole(Tree, json.dumps(tree | {"inner": LEAF}))


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "1e999", "[" * 100_000, '{"a"'])
def test_what_is_not_plain_json_is_refused(text: str) -> None:
    with pytest.raises(Mismatch):
        decode(Leaf, text)
    if "e" not in text:
        with pytest.raises(Mismatch):
            decode(object, text)


def test_only_values_of_the_model_are_encoded_and_no_figure_that_is_no_number() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        encode(Leaf("a", 1, float("nan"), Colour.RED))
    with pytest.raises(TypeError, match="list"):
        encode([1])


TAUGHT_AT_ONCE = """
import sys
from threading import Barrier, Thread

from fsconsole.model.wire import Wire, decode, from_plain

sys.setswitchinterval(1e-6)
for _ in range(100):
    class Leaf(Wire, frozen=True):
        name: str
        size: int = 0

    class Tree(Wire, frozen=True):
        leaves: tuple[Leaf, ...]

    def learn(number, barrier):
        barrier.wait()
        if number % 2:
            decode(Tree, '{"leaves": [{"name": "a"}]}')
        else:
            from_plain(Tree, {"leaves": [{"name": "a"}]})

    barrier = Barrier(8)
    threads = [Thread(target=learn, args=(number, barrier)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_meet_a_type_for_the_first_time_together_take_no_harm() -> None:
    done = subprocess.run([sys.executable, "-c", TAUGHT_AT_ONCE], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
