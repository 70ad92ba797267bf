"""All keys of the console: each key, its one meaning, and the places where it has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual.binding import Binding, BindingType
from textual.dom import DOMNode

_FOR_ENTER = "enter"


@dataclass(frozen=True, slots=True)
class Use:
    """A key in one place: a screen, a dialog, or a kind of widget."""

    place: str
    action: str
    label: str
    does: str
    """A phrase for help and palette."""
    rank: int = 0
    """Place in the footer, from 1 on: the last ones go first where it is too narrow; 0: only in the help."""
    shown: str = ""
    """Name of the key, where the footer names another one that does the same."""
    only: str = ""
    """The one of the key's names that it has here; empty for all."""
    priority: bool = False
    """True if it goes before a widget's own keys."""
    asks: bool = False
    """True if it ends, wipes or deletes something, and asks before."""

    @property
    def id(self) -> str:
        return f"{self.place} {self.action}"


@dataclass(frozen=True, slots=True)
class Key:
    """A key, or several names of one, with the same meaning wherever it is used."""

    keys: tuple[str, ...]
    means: str
    uses: tuple[Use, ...] = ()
    moves: bool = False
    """True if it only moves something, which the palette leaves out."""


ALWAYS_LAST = 90
"""Rank from which on keys stay in the footer, however narrow it is."""

KEYS = (
    Key(("1",), "Devices screen", (
        Use("app", "switch_mode('devices')", "Devices", "choose the devices to test"),
        Use("attach", "elsewhere('devices')", "Devices", "leave the run alone, show devices"),
    )),
    Key(("2",), "Plan screen", (
        Use("app", "switch_mode('plan')", "Plan", "choose filesystems, options and workloads"),
        Use("attach", "elsewhere('plan')", "Plan", "leave the run alone, show the plan"),
    )),
    Key(("3",), "Run screen", (
        Use("app", "switch_mode('run')", "Run", "watch the run"),
        Use("attach", "attach", "Show it", "watch the run", rank=1, shown="enter or 3"),
    )),
    Key(("4",), "Results screen", (
        Use("app", "switch_mode('results')", "Results", "show the figures of a run"),
        Use("attach", "elsewhere('results')", "Results", "leave the run alone, show figures"),
    )),
    Key(("5",), "Runs screen", (
        Use("app", "switch_mode('runs')", "Runs", "list all runs on this machine"),
        Use("attach", "elsewhere('runs')", "Runs", "leave the run alone, list all"),
    )),
    Key(("?",), "all keys of the screen, and what it is for", (
        Use("app", "show_help", "Keys", "help for this screen, with all its keys", rank=ALWAYS_LAST),
        Use("attach", "app.show_help", "Keys", "what this is", rank=ALWAYS_LAST),
        Use("help", "dismiss", "Close", "back to the screen"),
    )),
    Key(("q",), "quit; asks where something would be lost, a run goes on", (
        Use("app", "quit", "Quit", "quit; a run goes on", rank=ALWAYS_LAST + 1),
        Use("attach", "quit", "Quit", "quit; the run goes on", rank=ALWAYS_LAST + 1),
    )),
    Key(("ctrl+c",), "leave, as q does; beside a running run both say how to come back. In a dialog: close it, as escape does", (
        Use("app", "quit", "Quit", "quit; a run goes on", priority=True),
    )),
    Key(("ctrl+p",), "all actions, searched by words", (
        Use("app", "command_palette", "All actions", "search all actions", priority=True),
    )),
    Key(("escape",), "back: close, cancel, stop what this screen is doing", (
        Use("devices", "end_job", "Stop", "stop the current job, or show all devices again"),
        Use("plan", "back", "Back", "one column back; at the left: show all lines again", rank=3),
        Use("run", "follow", "Follow", "mark the running cell again"),
        Use("runs", "show_all", "All", "show all runs again"),
        Use("cell", "dismiss", "Back", "to the grid, or to the run", rank=9, shown="esc"),
        Use("replay", "dismiss", "Results", "to the figures", rank=9, shown="esc"),
        Use("filter", "clear", "All", "show all lines again", rank=3),
        Use("seek", "clear", "All", "show all rows again", rank=9),
        Use("results", "show_all", "All", "show all rows again"),
        Use("dialog", "dismiss", "Cancel", "go back, change nothing", rank=9),
        Use("commands", "dismiss", "Close", "back to where they were asked for", rank=9),
        Use("question", "dismiss(False)", "No", "change nothing", rank=9),
        Use("attach", "dismiss", "Not now", "the run goes on", rank=9),
        Use("help", "dismiss", "Close", "back to the screen", rank=9),
        Use("confirm", "back", "Back", "go back; cancel a start", rank=9, priority=True),
        Use("scratch", "leave", "Cancel", "create none; cancel the one under way", rank=9),
        Use("log", "dismiss", "Close", "back to the run", rank=9),
        Use("output", "dismiss", "Close", "back", rank=9),
    )),
    Key(("enter",), "open or confirm", (
        Use("devices", "plan", "Plan", "plan with what is ticked", rank=1, priority=True),
        Use("plan", "open", "Open", "open the line at the cursor: options, a section, or a form", rank=2, priority=True),
        Use("list", "open", "Open", "open this line"),
        Use("table", "open", "Open", "open this row", rank=1),
        Use("run", "cell", "Cell",
            "curves, figures and commands of the marked variant's running or last cell; of a run that is over its figures",
            rank=5, priority=True),
        Use("output", "dismiss", "Close", "back"),
    )),
    Key(("f10",), "accept what the dialog asks for, or run the plan", (
        Use("devices", "no_start", "Run", "say where a run is started"),
        Use("plan", "begin", "Run..", "confirm what is wiped, and run the plan", rank=1, asks=True),
        Use("confirm", "start", "Wipe and run", "start the run, once the name is typed", rank=1, priority=True, asks=True),
        Use("pick", "accept", "Choose", "take the line at the cursor; F10 too", rank=1, shown=_FOR_ENTER),
        Use("prompt", "accept", "Apply", "take the text; F10 too", rank=1, shown=_FOR_ENTER),
        Use("export", "accept", "Export", "write the file; F10 too", rank=1, shown=_FOR_ENTER),
        Use("scratch", "accept", "Create", "create the device; F10 too", rank=1, shown=_FOR_ENTER),
        Use("columns", "accept", "Apply", "show these columns; F10 too", rank=1, shown=_FOR_ENTER),
        Use("form", "accept", "Apply", "take what is typed; F10 too", rank=1, shown=_FOR_ENTER),
        Use("values", "accept", "Apply", "take what is ticked, else the line at the cursor; F10 too", rank=1,
            shown=_FOR_ENTER),
    )),
    Key(("space",), "tick or mark", (
        Use("devices", "tick", "Tick", "make the device a target, or untick it", rank=2),
        Use("choices", "tick", "Tick", "tick this line, or the value at the cursor; several values are compared", rank=2),
        Use("runs", "mark", "Mark", "mark a run for a comparison, at most two", rank=6),
        Use("columns", "tick", "Tick", "show this column, or leave it out", rank=2),
    )),
    Key(("*",), "tick all values", (
        Use("choices", "tick_every", "All values", "tick all values of this line; again: none"),
    )),
    Key(("O",), "only this: untick all others", (
        Use("plan", "only", "Only this", "tick this filesystem, and untick all others and the custom variants", rank=8),
    )),
    Key(("up", "k"), "one line up, one step more", (
        Use("list", "by(-1)", "Up", "one line up"),
        Use("confirm", "read(-1)", "Up", "read further up", only="up"),
        Use("replay", "faster(1)", "Faster", "replay faster", rank=3, only="up"),
        Use("form", "app.focus_previous", "Up", "the field above", only="up"),
        Use("scratch", "app.focus_previous", "Up", "the field above", only="up"),
        Use("values", "app.focus_previous", "Up", "back to the list", only="up"),
    ), moves=True),
    Key(("down", "j"), "one line down, one step less", (
        Use("list", "by(1)", "Down", "one line down"),
        Use("confirm", "read(1)", "Down", "read on", only="down"),
        Use("replay", "faster(-1)", "Slower", "replay more slowly", rank=2, only="down"),
        Use("form", "app.focus_next", "Next", "the field below", only="down"),
        Use("scratch", "app.focus_next", "Next", "the field below", only="down"),
        Use("filter", "keep", "Keep", "go to the lines that are left", only="down"),
    ), moves=True),
    Key(("pageup",), "one page up", (
        Use("list", "pages(-1)", "Page up", "one page up"),
        Use("commands", "read(-1)", "Up", "scroll the commands up", priority=True),
        Use("confirm", "read(-1)", "Up", "read further up"),
    ), moves=True),
    Key(("pagedown",), "one page down", (
        Use("list", "pages(1)", "Page down", "one page down"),
        Use("commands", "read(1)", "Commands", "read on in the commands of the cell at the cursor; tab leads to them",
            rank=2, shown="tab/pgdn", priority=True),
        Use("confirm", "read(1)", "Down", "read on"),
    ), moves=True),
    Key(("home", "g"), "to the start", (
        Use("list", "to(0)", "First", "to the first line"),
        Use("replay", "to(0)", "Start", "to the start of the loads"),
    ), moves=True),
    Key(("end", "G"), "to the end", (
        Use("list", "to(-1)", "Last", "to the last line"),
        Use("replay", "to(1)", "End", "to the end of the last one"),
    ), moves=True),
    Key(("left",), "to what stands at the left", (
        Use("table", "columns(-1)", "Left", "the column before"),
        Use("choices", "left", "Left", "the value before"),
        Use("plan", "back", "Back", "the value before; at the first one, one column back"),
        Use("cell", "other(-1)", "Before", "the cell before, of this row", priority=True),
        Use("replay", "seek(-1)", "Back", "back by a twentieth"),
        Use("log", "other(-1)", "Cell before", "the cell before", rank=1),
        Use("question", "app.focus_previous", "Other", "the other answer"),
    ), moves=True),
    Key(("right",), "to what stands at the right", (
        Use("choices", "right", "Right", "the next value, or open this line"),
        Use("table", "columns(1)", "Right", "the next column"),
        Use("cell", "other(1)", "Next", "the next cell of this row", priority=True),
        Use("replay", "seek(1)", "On", "on by a twentieth"),
        Use("log", "other(1)", "Next cell", "the next cell", rank=2),
        Use("question", "app.focus_next", "Other", "the other answer"),
    ), moves=True),
    Key(("tab",), "to the next part of the screen", (
        Use("plan", "app.focus_next", "Next list", "to the next list: filesystems, options; on a wide screen the pane of variants"),
        Use("form", "app.focus_next", "Next", "the next field", rank=2),
        Use("scratch", "app.focus_next", "Next", "the next field", rank=2),
        Use("filter", "keep", "Keep", "go to the lines that are left", rank=1, shown=_FOR_ENTER),
    ), moves=True),
    Key(("/",), "find: show only lines with some words", (
        Use("plan", "find", "Find", "show only lines with some words: name, group, help, old names", rank=4),
        Use("devices", "find", "Find", "show only devices with some words: name, model, serial, state", rank=6),
        Use("results", "find", "Find", "show only rows with some words", rank=12),
        Use("runs", "find", "Find", "show only runs with some words", rank=8),
        Use("commands", "find", "Find", "show only cells with some words", rank=1),
    )),
    Key(("f5",), "refresh", (
        Use("devices", "look", "Refresh", "look at all devices again"),
        Use("results", "reload", "Refresh", "read the run again"),
        Use("runs", "reload", "Refresh", "read the list again"),
        Use("confirm", "look", "Look again", "read the devices again", rank=3),
    )),
    Key(("p",), "pause, or go on", (
        Use("replay", "pause", "Pause", "pause, go on, or start again at the end", rank=1),
        Use("run", "pause", "Pause", "wait before the next cell, or go on", rank=1),
    )),
    Key(("S",), "skip the running cell; asks", (
        Use("run", "skip", "Skip..", "end this cell, go on with the next", rank=2, asks=True),
    )),
    Key(("a",), "stop after this cell, or take that back", (
        Use("run", "stop_after", "Stop after", "stop after this cell, or take that back", rank=3),
    )),
    Key(("X",), "stop now; asks", (
        Use("run", "stop_now", "Stop..", "stop in this cell", rank=4, asks=True),
    )),
    Key(("d",), "detach: leave, the run goes on", (
        Use("run", "detach", "Detach", "leave the console; the run goes on", rank=6),
    )),
    Key(("r",), "resume the run; asks", (
        Use("run", "resume", "Resume..", "finish a run that was cut short", rank=1, asks=True),
        Use("runs", "resume", "Resume..", "finish a run that was cut short", rank=2, asks=True),
    )),
    Key(("C",), "clean up after killed runs", (
        Use("run", "cleanup", "Clean up", "clean up after this killed run", rank=2),
        Use("runs", "cleanup", "Clean up", "clean up after killed runs", rank=3),
    )),
    Key(("x", "delete"), "remove the selected thing; asks where something on disk goes", (
        Use("devices", "remove", "Remove..", "remove a scratch device", rank=5, asks=True),
        Use("plan", "drop", "Remove",
            "remove the workload, the custom variant, or the list of options or arrays", rank=11),
        Use("runs", "delete", "Delete..", "remove a run with all its figures", rank=10, asks=True),
    )),
    Key(("n",), "new", (
        Use("devices", "create", "New scratch", "create a scratch device, safe to wipe", rank=3),
        Use("plan", "new", "New..", "add a workload or a custom variant, start a new plan, or open a recipe", rank=10),
    )),
    Key(("N",), "a demo", (
        Use("devices", "demo", "Demo", "start a first comparison, on a scratch device in a file"),
    )),
    Key(("D",), "duplicate", (
        Use("plan", "double", "Duplicate", "copy the workload, the custom variant, or the list of options or arrays"),
    )),
    Key(("R",), "read test", (
        Use("devices", "read", "Read test", "read for 3 s; nothing is written", rank=4),
    )),
    Key(("T",), "try the options on this machine", (
        Use("plan", "probe", "Try",
            "find out on a small image what this machine takes of the ticked filesystems' options", rank=12),
    )),
    Key(("f",), "recipes and plan files", (
        Use("plan", "open_plan", "Recipes", "open a recipe, another shipped plan, or a plan file", rank=5),
    )),
    Key(("o",), "open the plan of a run", (
        Use("run", "open_run_plan", "Plan", "open the plan of this run, to change it and run it again"),
        Use("results", "open_run_plan", "Plan", "open the plan of this run, to change it and run it again", rank=10),
        Use("runs", "open_run_plan", "Plan", "open the plan of the run at the cursor, to change it and run it again",
            rank=5),
    )),
    Key(("J",), "to what this one needs", (
        Use("plan", "needed", "Needed", "from a value that is left out to the option that it needs, or that excludes it", rank=2),
    )),
    Key(("w",), "save the plan", (
        Use("plan", "save_plan", "Save", "save the plan as a file", rank=6),
    )),
    Key(("l",), "commands", (
        Use("plan", "commands", "Commands", "the exact commands of any cell", rank=7),
        Use("confirm", "commands", "Commands", "the exact commands of any cell; where a name is typed, tab first", rank=2),
        Use("run", "log", "Log", "commands of the marked cell, with their output", rank=7),
        Use("cell", "section('commands')", "Commands", "what was run"),
    )),
    Key(("<",), "move to the front", (
        Use("plan", "move(-1)", "Earlier", "do the workload earlier"),
        Use("columns", "place(-1)", "Left", "further to the left", rank=3),
    )),
    Key((">",), "move to the back", (
        Use("plan", "move(1)", "Later", "do the workload later"),
        Use("columns", "place(1)", "Right", "further to the right", rank=4),
    )),
    Key(("m",), "rename", (
        Use("runs", "rename", "Rename", "give a run another title", rank=11),
    )),
    Key(("i",), "import a run", (
        Use("runs", "import", "Import", "add a run from a file that export wrote", rank=9),
    )),
    Key(("e",), "export", (
        Use("runs", "export", "Export", "write figures or the run itself to a file", rank=7),
        Use("results", "export", "Export", "write this view as text, csv, json or markdown", rank=7),
    )),
    Key(("s",), "sort", (
        Use("results", "sort", "Sort", "by the column at the cursor; again: reversed", rank=4),
    )),
    Key(("c",), "columns", (
        Use("results", "columns", "Columns", "choose and order columns", rank=9),
    )),
    Key(("b",), "baseline", (
        Use("results", "baseline", "Baseline", "compare with this variant, or with a value of an axis; again: as planned",
            rank=5),
    )),
    Key(("=",), "compare", (
        Use("results", "compare", "Compare", "compare with another run, or published figures", rank=8),
        Use("runs", "compare", "Compare", "compare with another run, or published figures", rank=4),
        Use("cell", "beside", "Beside", "another cell beside this one, on the same scales; again: without"),
    )),
    Key(("t",), "chart", (
        Use("run", "plotted", "Chart", "draw throughput and dirty memory, CPU, or nothing", rank=8),
        Use("results", "curves", "Curves", "draw this block's columns over threads, block sizes, ..."),
        Use("cell", "section('curves')", "Curves", "over time"),
    )),
    Key(("z",), "whole cell or last minute", (
        Use("run", "window", "Minute", "draw the whole cell or the last minute"),
    )),
    Key(("[",), "the block or section before", (
        Use("replay", "block(-1)", "Workload before", "replay the workload before"),
        Use("results", "block(-1)", "Block before", "show the block before"),
        Use("cell", "turn(-1)", "Before", "the section before"),
    ), moves=True),
    Key(("]",), "the next block or section", (
        Use("replay", "block(1)", "Next workload", "replay the next workload", rank=4),
        Use("results", "block(1)", "Block", "show the next block: a workload, the filesystem, raw", rank=2),
        Use("cell", "turn(1)", "Next", "the next section", rank=1),
    ), moves=True),
    Key(("y",), "mkfs and fstab lines", (
        Use("results", "use_lines", "mkfs line", "show and copy the row's mkfs and fstab lines", rank=11),
    )),
    Key(("v",), "race replay", (
        Use("results", "replay", "Replay", "replay the loads of all variants, released together", rank=6),
    )),
    Key(("+",), "more rounds", (
        Use("plan", "repeats", "Rounds..", "how many rounds are run, each with every variant once", rank=9),
        Use("results", "more", "More rounds", "run the plan again with more rounds", asks=True),
        Use("rounds", "step(1)", "More", "one round more", rank=2, priority=True),
    )),
    Key(("-",), "fewer rounds", (
        Use("rounds", "step(-1)", "Fewer", "one round less", rank=3, priority=True),
    )),
    Key(("A",), "advice", (
        Use("results", "advice", "Advice", "say which rows may be the best, why, and what disturbed them", rank=3),
    )),
)  # fmt: skip
"""The table: a key that no place uses yet is kept for its meaning."""

ANSWERS = (
    Key(("y",), "yes", (Use("question", "dismiss(True)", "Yes", "do it"),)),
    Key(("n",), "no", (Use("question", "dismiss(False)", "No", "change nothing"),)),
)
"""A question's own: they are its words, as what is typed into a field is."""

COMMANDS = (
    Use("results", "sort_by", "Sort by", "sort by a variant's name, an axis or any column"),
    Use("results", "all_pairs", "All pairs", "compare every row with every other one"),
    Use("results", "with_redone", "Replaced rounds", "show figures of replaced rounds too"),
)
"""Commands without a key of their own: the palette has them."""


def bindings(place: str) -> list[BindingType]:
    """Return the bindings of a place."""
    return [_binding(key, use) for key in (*KEYS, *ANSWERS) for use in key.uses if use.place == place]


def _binding(key: Key, use: Use) -> Binding:
    return Binding(
        use.only or ",".join(key.keys),
        use.action,
        use.label,
        show=use.rank > 0,
        key_display=use.shown or name_of(key.keys[0]),
        priority=use.priority,
        tooltip=use.does,
        id=use.id,
    )


def name_of(key: str) -> str:
    """Return a key's name on the screen."""
    return {"escape": "esc", "pageup": "pgup", "pagedown": "pgdn"}.get(key, key)


def keys_of(place: str) -> Iterator[tuple[str, Use]]:
    """Yield the keys of a place in words, with what each does: those of the footer first."""
    found = [(key, use) for key in (*KEYS, *ANSWERS) for use in key.uses if use.place == place]
    for key, use in sorted(found, key=lambda one: one[1].rank or ALWAYS_LAST):
        yield use.shown or use.only or " ".join(map(name_of, key.keys)), use


def declared(node_type: type[DOMNode]) -> Iterator[Binding]:
    """Yield the bindings of a class and those it inherits, one for each key."""
    for cls in node_type.__mro__:
        yield from Binding.make_bindings(vars(cls).get("BINDINGS", ()))


def places_of(node_type: type[DOMNode]) -> tuple[str, ...]:
    """Return the places of the table that a class takes its keys from, its own first."""
    found = (binding.id.partition(" ")[0] for binding in declared(node_type) if binding.id)
    return tuple(dict.fromkeys(found))


RANKS = {use.id: use.rank for key in (*KEYS, *ANSWERS) for use in key.uses if use.rank}
"""Places in the footer by id."""
MOVES = frozenset(use.id for key in KEYS if key.moves for use in key.uses)
"""Ids of bindings that only move something."""
