"""A filesystem of the catalog: commands, allow-lists, options, rules; and what is known of them on this machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import msgspec

from fsconsole.model.device import WriteMark
from fsconsole.model.wire import Wire
from fsconsole.units import parse_bytes


class ArgumentKind(str, Enum):
    """Kinds of values behind a flag or an equals sign; the texts stand in the catalog's files.

    None accepts a slash, a comma, a leading dash or an empty text, so no value is a path, a second word or a flag.
    """

    BARE = "bare"
    """No value at all."""
    NUMBER = "number"
    SIZE = "size"
    """A number with the tools' unit letter: 64k, 128m, 32b (man 8 mkfs.xfs), 4096."""
    PERCENT = "percent"
    CHOICES = "choices"


_KINDS = {
    ArgumentKind.NUMBER: ("a whole number", re.compile(r"[0-9]{1,18}")),
    ArgumentKind.SIZE: ("a size such as 64k or 4096", re.compile(r"[0-9]{1,18}[bskKmMgGtT]?")),
    ArgumentKind.PERCENT: ("a percentage below 100", re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,3})?")),
}


class Argument:
    """A kind of value, declared by its name or by a list of words, where the empty word means "may stand bare"."""

    def __init__(self, declared: str | list[str]) -> None:
        self.kind = ArgumentKind.CHOICES if isinstance(declared, list) else ArgumentKind(declared)
        self.choices = msgspec.convert(declared, tuple[str, ...]) if isinstance(declared, list) else ()

    def accepts(self, value: str | None) -> bool:
        """Tell whether this value may stand here; None means that there is no value."""
        if self.kind is ArgumentKind.BARE:
            return value is None
        if value is None:
            return "" in self.choices
        if self.kind is ArgumentKind.CHOICES:
            return value != "" and value in self.choices
        return _KINDS[self.kind][1].fullmatch(value) is not None

    @property
    def examples(self) -> tuple[str, ...]:
        """Valid values, or the kind in words where they can't be counted."""
        return tuple(choice for choice in self.choices if choice) or (self.wanted,)

    @property
    def wanted(self) -> str:
        """The valid values in words, for an error."""
        if self.kind is ArgumentKind.CHOICES:
            return "one of " + ", ".join(choice or "(nothing)" for choice in self.choices)
        return "no value" if self.kind is ArgumentKind.BARE else _KINDS[self.kind][0]


class Scope(str, Enum):
    """Stages at which options take effect."""

    MKFS = "mkfs"
    MOUNT = "mount"


class FlagKind(str, Enum):
    """Forms of a flag's argument."""

    VALUE = "value"
    """One value, or none: -I 256, -K."""
    PAIRS = "pairs"
    """key=value, separated by commas: -E stride=32,nodiscard."""
    FEATURES = "features"
    """Names, cleared by a caret, separated by commas: -O ^flex_bg,uninit_bg."""


class ByteSize(int):
    """Bytes; declared as a number or as text such as "64MiB"."""

    def __new__(cls, declared: int | str) -> ByteSize:
        """Return the size. Raises BadQuantity."""
        return super().__new__(cls, parse_bytes(declared) if isinstance(declared, str) else declared)


class ByValue(dict[str, str]):
    """A text for each value of an option; declared as one text it holds for all, under the value ""."""

    def __init__(self, declared: str | dict[str, str] | None = None) -> None:
        super().__init__({"": declared} if isinstance(declared, str) else declared or {})

    def of(self, value: str) -> str:
        """Return the text for a value; empty where there is none."""
        return self.get(value, self.get("", ""))


BARE = Argument("bare")
DEFAULT = "default"
"""Value of any option in a plan: the tools decide, as where the option is not given."""


# Tables of a declaration; compared by identity, so that results can be cached.


class Flag(Wire, frozen=True, eq=False):
    """One flag that a tool may be given, under all its names (the first is the one that is printed)."""

    names: tuple[str, ...]
    kind: FlagKind = FlagKind.VALUE
    argument: Argument = BARE
    """Of VALUE flags."""
    keys: dict[str, Argument] = msgspec.field(default_factory=dict)
    """Sub-keys of PAIRS flags; of FEATURES flags the feature names, each bare."""
    features: tuple[str, ...] = ()
    aliases: dict[str, str] = msgspec.field(default_factory=dict)
    """Other and older names of sub-keys: "uninit_groups" for "uninit_bg"."""

    def __post_init__(self) -> None:
        """Make keys of the features."""
        if self.features:
            msgspec.structs.force_setattr(self, "keys", dict.fromkeys(self.features, BARE))


class Trial(Wire, frozen=True, eq=False):
    """Trial of an option on an image."""

    values: tuple[str, ...] = ()
    """Of an option that takes any number or size."""
    mkfs: str = ""
    mount: str = ""
    """Words without which it can't be tried: the other half of a pair, the feature that it belongs to."""


class Option(Wire, frozen=True, eq=False):
    """One declaration of an option, from which checklist, plan reader and help are made."""

    name: str
    group: str
    scope: Scope
    help: str
    texts: dict[str, str] = msgspec.field(default_factory=dict)
    """For each value it can take the text in the tool's words; empty where any number or size goes."""
    template: str = ""
    """Text with {value} for an option that takes any of its values."""
    values: Argument = BARE
    old_names: tuple[str, ...] = ()
    since: str = ""
    """First kernel that takes it; empty: older than anything that matters."""
    until: str = ""
    """Last kernel that takes it; empty: taken today."""
    refusals: ByValue = msgspec.field(name="refusal", default_factory=ByValue)
    """Error of the kernel or the tool where it is refused since then."""
    ignored: bool = False
    """True where kernels accept it and do nothing: those after until, or all of today where that is empty."""
    depends: str = ""
    """Cause of a refusal beside the release: "device" (DAX), "build" (a CONFIG_ of the kernel)."""
    tools_since: str = ""
    """First version of the filesystem's tools that knows it; empty: older than anything that matters."""
    trial: Trial = Trial()
    shown: ByValue = msgspec.field(default_factory=ByValue)
    """Text that shows it in effect; see words.effect_of."""
    shown_in: str = ""
    """The field of the read-back features that it changes, where that has other values."""
    common: int = 0
    """Place among the options that the console offers first, from 1; 0: below all others."""

    def __post_init__(self) -> None:
        """List the texts of counted values."""
        if self.values.choices:
            texts = {value: self.template.replace("{value}", value) for value in self.values.choices}
            msgspec.structs.force_setattr(self, "texts", texts)

    def accepts(self, value: str) -> bool:
        """Tell whether the option can take this value."""
        return value in self.texts if self.texts else self.values.accepts(value)

    def text(self, value: str) -> str:
        """Return the tool's words for an accepted value."""
        return self.texts[value] if self.texts else self.template.replace("{value}", value)

    def shown_as(self, value: str) -> str:
        """Return how this value shows when it is in effect; empty where that can't be seen."""
        return self.shown.of(value).replace("{value}", value)

    def has_words(self, value: str) -> bool:
        """Return whether a plan's value gives the tools a word; "default" gives none, unless it is one of the values."""
        return value != DEFAULT or self.accepts(value)

    @property
    def values_to_try(self) -> tuple[str, ...]:
        """Every value, where they can be counted, and some where they can't."""
        return tuple(self.texts) or self.trial.values

    @property
    def wanted(self) -> str:
        """The values it takes, in words."""
        return f"one of {', '.join(self.texts)}" if self.texts else self.values.wanted


class Rule(Wire, frozen=True, eq=False, kw_only=True):
    """Words that go with no others, or only with others; a word is written as in facts: "mount data=journal"."""

    when: str
    excludes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    """At least one of these must be there, where any is named."""
    why: str


class Unsafe(Wire, frozen=True, eq=False):
    """A word (as facts have it: "mount barrier=0") that risks data after a crash, and why, as a clause."""

    why: str
    when: str = ""
    """Empty: the filesystem itself, whatever its words."""


class CommandTemplates(Wire, frozen=True, eq=False):
    """argv with placeholders; {words} stands for any number of words, {options} for mount's list."""

    mkfs: tuple[str, ...]
    mount: tuple[str, ...]
    unmount: tuple[str, ...]
    features: tuple[str, ...]
    delete: tuple[str, ...]
    identify: tuple[str, ...] = ()
    """Gives the new filesystem the run's UUID, where mkfs itself can't; empty where it can."""
    tune: tuple[str, ...] = ()
    recover: tuple[str, ...] = ()
    """Command that replays the journal of the unmounted device (e2fsck -p); empty: mounting replays it."""
    repair: tuple[str, ...] = ()
    """Command for the administrator if recover leaves errors (exit code 4, man 8 fsck)."""
    check: tuple[str, ...] = ()
    """The forced full check of the unmounted device; empty where none exists (Filesystem.check_note)."""


class KitRules(Wire, frozen=True, eq=False):
    """Treatment, in a kit for other devices, of what mkfs derives by itself; see the files."""

    pinned: tuple[str, ...] = ()
    """Options of mkfs that are given as they were measured, for mkfs may choose otherwise there."""
    by_size: tuple[str, ...] = ()
    """Names that are read back, which follow the size of the device."""
    by_device: tuple[str, ...] = ()
    """Likewise: its sectors and stripes."""
    by_use: tuple[str, ...] = ()
    """Likewise: a mount or use sets them."""


class Filesystem(Wire, frozen=True, eq=False):
    """One filesystem, as its file declares it."""

    name: str
    title: str
    driver: str
    """Kernel driver that serves it today, in words."""
    package: str
    tools: tuple[str, ...]
    min_bytes: ByteSize
    max_bytes: ByteSize
    metadata_share: float
    """Share of the device that mkfs writes (measurement: 1.6 % on ext4 without lazy initialisation)."""
    base_mkfs: str
    """mkfs words given unless the variant gives others of the same key."""
    check_note: str
    trial_bytes: ByteSize
    """Size of the sparse image on which options are tried."""
    commands: CommandTemplates
    mount_words: dict[str, Argument]
    """Words that may follow mount -o, with what may stand after their equals sign."""
    mount_aliases: dict[str, str] = msgspec.field(default_factory=dict)
    """Whole words that mean another whole word: "nobarrier" for "barrier=0"."""
    check_share: float = 0.0
    """Share of the device that a full check reads while it is empty; 0 where that is next to nothing."""
    no_shutdown: str = ""
    """Why a shutdown (FS_IOC_SHUTDOWN) shows nothing of a power loss on it; empty: it does."""
    mount_replays: bool = True
    """True: mounting recovers the filesystem after a power loss. False: only the recover command does."""
    extent_lists: str = ""
    """Program that tells where a file's extent list lies: "debugfs" or "xfs_db"; empty: none does."""
    look_words: str = ""
    """Mount options beside ro with which nothing is replayed, to look at what is on it."""
    since: str = ""
    """First kernel that has its driver; empty: older than anything that matters."""
    until: str = ""
    """Last kernel that has its driver; empty: today's has."""
    marks: tuple[WriteMark, ...] = msgspec.field(name="mark", default=())
    mkfs_flags: tuple[Flag, ...] = msgspec.field(name="mkfs_flag", default=())
    tune_flags: tuple[Flag, ...] = msgspec.field(name="tune_flag", default=())
    options: tuple[Option, ...] = msgspec.field(name="option", default=())
    rules: tuple[Rule, ...] = msgspec.field(name="rule", default=())
    unsafe: tuple[Unsafe, ...] = ()
    kit: KitRules = KitRules()

    def option(self, name: str, scope: Scope) -> Option | None:
        """Return the option of that name, old or new, or None: the caller words the error with its own key."""
        named = (o for o in self.options if o.scope is scope and name in (o.name, *o.old_names))
        return next(named, None)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All filesystems, in the order in which they are listed."""

    filesystems: tuple[Filesystem, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(filesystem.name for filesystem in self.filesystems)

    @property
    def marks(self) -> dict[str, tuple[WriteMark, ...]]:
        """Write marks of each filesystem, by its name."""
        return {filesystem.name: filesystem.marks for filesystem in self.filesystems}

    def get(self, name: str) -> Filesystem:
        """Return the filesystem of that name; raises KeyError, plan readers look at names first."""
        return {filesystem.name: filesystem for filesystem in self.filesystems}[name]


def release_numbers(release: str) -> tuple[int, ...]:
    """Return the leading numbers of a release: "6.1.0-18-amd64" is (6, 1, 0); empty where it has none."""
    match = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}", release)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def is_before(release: str, since: str) -> bool:
    """Tell whether a release is older than since."""
    return release_numbers(release) < release_numbers(since)


def is_after(release: str, until: str) -> bool:
    """Tell whether a release is of a later series than until: 2.6.27.5 is not after 2.6.27."""
    last = release_numbers(until)
    return release_numbers(release)[: len(last)] > last


class Verdict(str, Enum):
    """The result of trying an option at a value; the values are printed and stored."""

    TAKEN = "taken"
    REFUSED = "refused"
    IGNORED = "not in effect"
    """Accepted, without effect."""
    UNTRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Answer:
    """One option at one value; words are the kernel's own, or the tool's, empty where it was simply taken."""

    filesystem: str
    scope: Scope
    option: str
    value: str
    verdict: Verdict
    words: str = ""
    shows: str = ""
    """Its form in the features read back, where that is declared."""


@dataclass(frozen=True)
class Known:
    """All that is known of this machine beside its kernel's release."""

    answers: tuple[Answer, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()
    """(filesystem, why) for those that this kernel has no driver for."""

    @cached_property
    def _index(self) -> dict[tuple[str, Scope, str, str], Answer]:
        """The answers by what they are about: thousands of rows ask for each of their options."""
        return {(one.filesystem, one.scope, one.option, one.value): one for one in reversed(self.answers)}

    def about(self, filesystem: str, option: Option, value: str) -> Answer | None:
        """Return the result of trying it, or None where it is unknown: most callers then go by declarations."""
        return self._index.get((filesystem, option.scope, option.name, value))

    def why_absent(self, filesystem: str) -> str:
        """Return why this kernel can't mount it at all; empty where it can, or where that is not known."""
        return dict(self.absent).get(filesystem, "")


NOTHING_KNOWN = Known()
