"""What the catalog holds on one filesystem: commands, allow-lists, options, rules; all plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fsconsole.catalog.arguments import Argument


class Scope(str, Enum):
    """Where an option takes effect."""

    MKFS = "mkfs"
    MOUNT = "mount"


class FlagKind(str, Enum):
    """How a flag's argument is built."""

    VALUE = "value"
    """One value, or none: -I 256, -K."""
    PAIRS = "pairs"
    """key=value, separated by commas: -E stride=32,nodiscard."""
    FEATURES = "features"
    """Names, cleared by a caret, separated by commas: -O ^flex_bg,uninit_bg."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag that a tool may be given, under all its names (the first is the one that is printed)."""

    names: tuple[str, ...]
    kind: FlagKind
    argument: Argument
    """Of VALUE flags."""
    keys: tuple[tuple[str, Argument], ...] = ()
    """Sub-keys of PAIRS flags; of FEATURES flags the feature names, each bare."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Other and older names of sub-keys: ("uninit_groups", "uninit_bg")."""


@dataclass(frozen=True, slots=True)
class MountWords:
    """Words that may follow mount -o, with what may stand after their equals sign."""

    words: tuple[tuple[str, Argument], ...]
    aliases: tuple[tuple[str, str], ...] = ()
    """Whole words that mean another whole word: ("nobarrier", "barrier=0")."""


@dataclass(frozen=True, slots=True)
class Option:
    """One declaration of an option, from which checklist, plan reader and help are made."""

    name: str
    group: str
    scope: Scope
    help: str
    texts: tuple[tuple[str, str], ...]
    """(value, text in the tool's words) for each value it can take; empty where any number or size goes."""
    template: str = ""
    """Text with {value} for an option that takes any value of its argument's kind."""
    argument: Argument | None = None
    old_names: tuple[str, ...] = ()
    since: str = ""
    """First kernel that takes it; empty: older than anything that matters."""
    until: str = ""
    """Last kernel that takes it; empty: taken today."""
    refusals: tuple[tuple[str, str], ...] = ()
    """(value, words) where it is refused since then: the kernel's own, or the tool's; value "" stands for all."""
    ignored: bool = False
    """True where kernels accept it and do nothing: those after until, or all of today where that is empty."""
    depends: str = ""
    """What a refusal hangs on beside the release: "device" (DAX), "build" (a CONFIG_ of the kernel)."""
    tools_since: str = ""
    """First version of the filesystem's tools that knows it; empty: older than anything that matters."""
    trial_values: tuple[str, ...] = ()
    """Values to be tried out, of an option that takes any number or size."""
    trial_mkfs: str = ""
    trial_mount: str = ""
    """Words without which it can't be tried: the other half of a pair, the feature that it belongs to."""
    shown: tuple[tuple[str, str], ...] = ()
    """(value, how it shows when it is in effect), value "" for all values; see effects.py."""
    shown_in: str = ""
    """What is read back that it changes, where its value stands there in other terms."""

    def accepts(self, value: str) -> bool:
        """Tell whether the option can take this value."""
        if self.argument is not None:
            return self.argument.accepts(value)
        return any(value == known for known, _ in self.texts)

    def text(self, value: str) -> str:
        """Return the tool's words for an accepted value."""
        return dict(self.texts)[value] if self.texts else self.template.replace("{value}", value)

    def refusal_of(self, value: str) -> str:
        """Return the words with which today's kernel or tool refuses this value; empty where it takes it."""
        known = dict(self.refusals)
        return known.get(value, known.get("", ""))

    def shown_as(self, value: str) -> str:
        """Return how this value shows when it is in effect; empty where that can't be seen."""
        known = dict(self.shown)
        return known.get(value, known.get("", "")).replace("{value}", value)

    @property
    def values_to_try(self) -> tuple[str, ...]:
        """Every value, where they can be counted, and some where they can't."""
        return tuple(value for value, _ in self.texts) or self.trial_values

    @property
    def wanted(self) -> str:
        """The values it takes, in words."""
        if self.argument is not None:
            return self.argument.wanted
        return "one of " + ", ".join(value for value, _ in self.texts)


@dataclass(frozen=True, slots=True)
class Rule:
    """Words that go with no others, or only with others; a word is written as in facts: "mount data=journal"."""

    when: str
    excludes: tuple[str, ...]
    needs: tuple[str, ...]
    """At least one of these must be there, where any is named."""
    why: str


@dataclass(frozen=True, slots=True)
class CommandTemplates:
    """argv with placeholders; {words} stands for any number of words, {options} for mount's list."""

    mkfs: tuple[str, ...]
    identify: tuple[str, ...]
    """Gives the new filesystem the run's UUID, where mkfs itself can't; empty where it can."""
    tune: tuple[str, ...]
    mount: tuple[str, ...]
    unmount: tuple[str, ...]
    check: tuple[str, ...]
    """Empty where no check exists."""
    features: tuple[str, ...]
    delete: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Filesystem:
    """All that is known of one filesystem; two are the same only as objects, so that what is worked out is kept."""

    name: str
    title: str
    driver: str
    """Which kernel driver serves it today, in words."""
    package: str
    tools: tuple[str, ...]
    min_bytes: int
    max_bytes: int
    metadata_share: float
    """Share of the device that mkfs writes (measurement: 1.6 % on ext4 without lazy initialisation)."""
    base_mkfs: str
    """mkfs words given unless the variant gives others of the same key."""
    check_note: str
    since: str
    """First kernel that has its driver; empty: older than anything that matters."""
    until: str
    """Last kernel that has its driver; empty: today's has."""
    trial_bytes: int
    """Size of the sparse image on which options are tried."""
    commands: CommandTemplates
    mkfs_flags: tuple[Flag, ...]
    tune_flags: tuple[Flag, ...]
    mount_words: MountWords
    options: tuple[Option, ...]
    rules: tuple[Rule, ...]

    def option(self, name: str, scope: Scope) -> Option | None:
        """Return the option of that name, old or new, or None: the caller words the error with its own key."""
        for option in self.options:
            if option.scope is scope and name in (option.name, *option.old_names):
                return option
        return None


@dataclass(frozen=True, slots=True)
class Catalog:
    """All filesystems, in the order in which they are listed."""

    filesystems: tuple[Filesystem, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(filesystem.name for filesystem in self.filesystems)

    def get(self, name: str) -> Filesystem:
        """Return the filesystem of that name; raises KeyError, plan readers look at names first."""
        return {filesystem.name: filesystem for filesystem in self.filesystems}[name]
