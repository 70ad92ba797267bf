"""Plan files as nobody means them: tables with the schema's keys and hostile values, and the shipped plans' texts damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli
import tomli_w
from hypothesis import strategies as st

from fsconsole.plan.read import list_configs
from tests.fuzz.values import ACTING, scalars, texts
from tests.unit.plan.examples import DESIGN, SMALLEST

_KINDS = """
schema = 1
repeats = 1
raw = true
order = "rounds"
scale = 0.5

[settings]
dirty_bytes = ["64MiB"]
nr_requests = [64, 128]
stripe_cache_size = 512

[[variant]]
type = "btrfs"
mkfs = "-d single"
mount = "compress=zstd:3"
tune = ""
label = "b"
as_printed = "as in the paper"

[[workload]]
name = "a"
kind = "create"
threads = [1, 2]
files = 10
file_size = ["4KiB", "64KiB"]
block_size = "4KiB"
directories = 100
data = 0.5
fsync = 3
sync_call = "fdatasync"
direct = true
with = { read_ahead = "4MiB" }

[[workload]]
kind = "mix"
of = "a"
duration = "1s"
bytes = "1MiB"
end = "at-once"
weights = { read = 3, create = 1 }
fsync = "each-file"
file_size = "4KiB"
block_size = "4KiB"
cold = true
"""
_TEXTS = (SMALLEST, DESIGN, _KINDS, *(path.read_text() for path in list_configs()))
DOCUMENTS: tuple[dict[str, Any], ...] = tuple(tomli.loads(text) for text in _TEXTS)
_WORDS = (
    "type", "mkfs", "mount", "tune", "label", "exclude", "name", "kind", "threads", "files", "file_size", "block_size",
    "directories", "data", "weights", "with", "of", "cold", "direct", "read_ahead", "scheduler", "level", "chunk", "title",
    "repeats", "order", "seed", "scale", "equalise", "raw", "settings", "array", "filesystem", "variant", "workload", "after",
    "check", "crash", "delete", "duration", "bytes", "end", "fsync", "sync_call", "fsync_every", "inode_size",
    "flex_bg", "journal_dev", "members", "primary", "same", "control",
)  # fmt: skip
_keys = st.one_of(st.sampled_from(_WORDS), texts)
_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(scalars, st.dates(), st.datetimes(), st.times()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_keys, inner, max_size=3)),
    max_leaves=4,
)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Return a plan file whose values were replaced, left out, doubled or put elsewhere, in one to six places."""
    document = _copied(draw(st.sampled_from(DOCUMENTS)))
    if draw(st.booleans()):
        _name_strangely(draw, document)
    for _ in range(draw(st.integers(0, 6))):
        _damage(draw, document)
    return _toml(document)


@st.composite
def damaged_texts(draw: st.DrawFn) -> bytes:
    """Return a shipped plan's text with bytes replaced, left out, put in or doubled."""
    text = bytearray(draw(st.sampled_from(_TEXTS)).encode())
    for _ in range(draw(st.integers(1, 8))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        new = draw(st.one_of(st.binary(max_size=6), texts.map(_bytes), st.just(bytes(text[start : end + 40]))))
        text[start:end] = new
    return bytes(text)


def any_plan() -> st.SearchStrategy[bytes]:
    """Return what makes either."""
    return st.one_of(documents(), documents(), damaged_texts())


def put(directory: Path, text: bytes) -> str:
    """Write a plan file and return its path."""
    path = directory / "plan.toml"
    path.write_bytes(text)
    return str(path)


def _name_strangely(draw: st.DrawFn, document: dict[str, Any]) -> None:
    """Put text that acts where any text may stand."""
    text = "".join(draw(st.lists(st.sampled_from(ACTING), min_size=1, max_size=2)))
    document["title"] = f"title {text}"
    for number, table in enumerate(document.get("variant", ())):
        table["label"], table["as_printed"] = f"label {number} {text}", f"as printed {text}"
    for number, table in enumerate(document.get("workload", ())):
        if "of" not in table:
            table["name"] = f"load {number} {text}"


def _damage(draw: st.DrawFn, document: dict[str, Any]) -> None:
    """Change one value in one table of a document, whichever."""
    table = draw(st.sampled_from(list(_tables(document))))
    key = draw(st.one_of(st.sampled_from(sorted(table) or ["type"]), _keys))
    how = draw(st.sampled_from(("replace", "replace", "replace", "wrap", "drop", "graft")))
    if how == "drop":
        table.pop(key, None)
    elif how == "wrap" and key in table:
        table[key] = [table[key]] * draw(st.integers(0, 3))
    elif how == "graft":
        other = draw(st.sampled_from(list(_tables(draw(st.sampled_from(DOCUMENTS))))))
        table.update(_copied(other))
    else:
        table[key] = draw(_values)


def _tables(value: object) -> Any:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _tables(item)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _toml(document: dict[str, Any]) -> bytes:
    try:
        return _bytes(tomli_w.dumps(document))
    except (TypeError, ValueError):
        # Nothing that TOML can hold; as Python writes it, it is at least a text.
        return _bytes(repr(document))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")
