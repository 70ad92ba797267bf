"""A form of several fields, judged as it is typed by who will read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Button, Footer, Input, Label, OptionList, Static

from fsconsole.journal.folder import RunFolder
from fsconsole.show.plan_forms import FormField
from fsconsole.show.run import Going, question
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.widgets.panes import Footer as panes_Footer
from fsconsole.tui.widgets.panes import Keys

if TYPE_CHECKING:
    from fsconsole.tui.session import Host


# A screen over another that ends once, and only while it is on top: what a worker ends may be covered by then.

T = TypeVar("T")


class Modal(ModalScreen[T]):
    """Subclasses end with dismiss(), whenever they like."""

    _is_left = False
    _kept: tuple[T | None] | None = None
    """What it is to end with, once nothing is over it and its mode is shown."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """End with a result, as soon as this is the screen on top; a second end is none."""
        if self._is_left:
            return AwaitComplete()
        if not self.is_active:
            # Textual would pop the screen on top, whichever that is.
            self._kept = self._kept or (result,)
            return AwaitComplete()
        self._is_left = True
        return super().dismiss(result)

    def on_screen_resume(self) -> None:
        """End with what was kept; a subclass's own handler is called besides."""
        if self._kept is not None:
            self.dismiss(self._kept[0])


# A question with two answers; the harmless one has the focus.


def resume_question(name: str, targets: Iterable[str]) -> AskScreen:
    """Return what is asked before a run is taken up again."""
    wiped = ", ".join(targets) or "its devices"
    explanation = f"It goes on where it ended: {wiped} is wiped again for each cell that is left."
    return AskScreen(f"Resume run {name}?", explanation, yes="Resume", no="Leave it")


class AskScreen(Modal[bool]):
    """Asks before something is done that can't be taken back; y does it, n and escape don't."""

    CSS_PATH = "ask.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", id="ask.yes", tooltip="Do it"),
        Binding("n,escape", "answer(False)", "No", id="ask.no", tooltip="Leave it as it is"),
        Binding("left,right", "other", "Other", id="ask.other", tooltip="The other answer", show=False),
    ]

    def __init__(self, question: str, explanation: str, *, yes: str, no: str) -> None:
        super().__init__()
        self._words = (question, explanation)
        self._answers = (yes, no)

    def compose(self) -> ComposeResult:
        yes, no = self._answers
        with Vertical(id="ask"):
            yield Static(plain(self._words[0], "bold"))
            yield Static(plain(self._words[1]))
            with Horizontal():
                yield Button(plain(f"n  {no}"), id="no", compact=True)
                yield Button(plain(f"y  {yes}"), id="yes", compact=True)

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def action_other(self) -> None:
        self.focus_next()


# The runs that go on, offered as the console starts.


class AttachScreen(Modal[RunFolder | None]):
    """Ends with the run to be shown, or with None; keys that lead elsewhere do so from here too."""

    CSS_PATH = "attach.tcss"
    HELP: ClassVar[str] = (
        "A run goes on by itself, whether a console looks at it or not.\n"
        "Enter shows it; escape leaves it alone. Later, 3 shows the newest, and 5 lists all."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "3", "attach", "Show it", id="attach.show", tooltip="Watch the run", key_display="enter or 3"
        ),
        Binding("escape", "dismiss(None)", "Not now", id="attach.later", tooltip="It goes on all the same"),
        Binding("1", "elsewhere('devices')", "Devices", id="go.devices", tooltip="Devices", show=False),
        Binding("2", "elsewhere('plan')", "Plan", id="go.plan", tooltip="The plan", show=False),
        Binding("4", "elsewhere('results')", "Results", id="go.results", tooltip="The grid", show=False),
        Binding("5", "elsewhere('runs')", "Runs", id="go.runs", tooltip="All runs", show=False),
        Binding("question_mark", "app.show_help", "Help", id="help", tooltip="What this is", key_display="?"),
        Binding("q", "app.quit", "Quit", id="quit", tooltip="Leave; a run goes on"),
    ]

    def __init__(self, runs: Sequence[Going]) -> None:
        super().__init__()
        self._runs = tuple(runs)

    def compose(self) -> ComposeResult:
        with Vertical(id="attach"):
            yield Static(plain(question(self._runs), "bold"))
            yield OptionList(
                *(lines(plain(run.title), plain(f"  {run.place}")) for run in self._runs), id="going"
            )
            yield Footer(show_command_palette=False, compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._runs[event.option_index].folder)

    def action_attach(self) -> None:
        self.dismiss(self._runs[self.query_one(OptionList).highlighted or 0].folder)

    def action_elsewhere(self, mode: str) -> None:
        self.dismiss(None)
        cast("Host", self.app).action_go(mode)


# What all dialogs over a screen have: a title, a body, a line for what is wrong, the keys at the bottom.


def enter_takes(binding_id: str, tooltip: str, *, words: str = "Take") -> Binding:
    """Return the key that ends a dialog with what it asked for: F10 from anywhere, shown as the Enter of its widgets."""
    return Binding("f10", "accept", words, id=binding_id, tooltip=f"{tooltip}; F10 too", key_display="enter")


class Dialog(Modal[T | None]):
    """A dialog; it ends with what was asked for, or with None."""

    CSS_PATH = str(Path(__file__).with_name("dialog.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Cancel", id="dialog.cancel", tooltip="Back, with nothing changed"),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._heading = title

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(plain(self._heading, "bold"), id="dialog-title")
            yield from self.body()
            yield Static(plain(""), id="dialog-wrong")
        yield Keys()

    def body(self) -> Iterable[Widget]:
        return ()

    def complain(self, words: str) -> None:
        """Show what is wrong, or take it back with nothing."""
        wrong = self.query_one("#dialog-wrong", Static)
        wrong.update(plain(words, "$error"))
        if words:
            # A long sentence makes the dialog higher than the screen: it, and not the list, must be in sight.
            self.call_after_refresh(wrong.scroll_visible, animate=False)

    def action_give_up(self) -> None:
        """End with None."""
        self.dismiss(None)


class FormScreen(Dialog[T]):
    """Ends with what the fields come to, with nothing in it that judged() has something against."""

    BINDINGS: ClassVar[list[BindingType]] = [
        enter_takes("form.accept", "Take it as it stands"),
        Binding("up", "app.focus_previous", "Up", id="form.up", tooltip="The field above", show=False),
        Binding("down", "app.focus_next", "Down", id="form.down", tooltip="The field below", show=False),
    ]

    def __init__(self, title: str, fields: Sequence[FormField]) -> None:
        super().__init__(title)
        self._fields = tuple(fields)

    def judged(self, texts: Mapping[str, str]) -> tuple[str, str]:
        """Return the key of the field with which something is wrong, and what; both empty where nothing is."""
        raise NotImplementedError

    def result(self, texts: Mapping[str, str]) -> T:
        """Return what faultless texts come to."""
        raise NotImplementedError

    def body(self) -> Iterable[Widget]:
        with VerticalScroll(id="form", can_focus=False):
            for field in self._fields:
                with Horizontal(classes="field -wide" if field.is_wide else "field"):
                    yield Label(plain(field.key))
                    yield Input(field.text, id=f"field-{field.key}", compact=True, select_on_focus=False)
                    if not field.is_wide:
                        yield Static(plain(field.hint), classes="hint")
                if field.is_wide:
                    yield Static(plain(field.hint), classes="below")
                yield Static(plain(""), id=f"wrong-{field.key}", classes="wrong")

    def on_input_changed(self, _event: Input.Changed) -> None:
        self._judge()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        self.action_accept()

    def action_accept(self) -> None:
        """End with it where nothing is wrong; else go to the field."""
        wrong = self._judge()
        if wrong:
            self.query_one(f"#field-{wrong}").focus()
        else:
            self.dismiss(self.result(self._texts()))

    def _judge(self) -> str:
        wrong, words = self.judged(self._texts())
        for field in self._fields:
            below = self.query_one(f"#wrong-{field.key}", Static)
            below.update(plain(words if field.key == wrong else ""))
            below.display = field.key == wrong
        return wrong

    def _texts(self) -> dict[str, str]:
        return {field.key: self.query_one(f"#field-{field.key}", Input).value for field in self._fields}


# Help for the screen at hand: what it is for, and its keys.

_KEY = 10
"""Columns that the names of keys take."""
_GENERAL = (
    "Keys 1 to 5 change screens; ctrl+p lists everything that can be done; q leaves, and a run goes on."
)


class HelpScreen(Modal[None]):
    """Says what a screen is for, and lists its keys."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss", "Close", id="help.close", tooltip="Back to the screen"),
    ]

    def __init__(self, screen: Screen[object]) -> None:
        super().__init__()
        self._about = screen

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            yield Static(self._text())

    def _text(self) -> Content:
        purpose = [plain(line) for line in getattr(self._about, "HELP", "").strip().splitlines()]
        keys = [plain(f"{key:<{_KEY}} {words}") for key, words in self._keys()]
        return lines(*purpose, plain(""), plain("Keys", "bold"), *keys, plain(""), plain(_GENERAL))

    def _keys(self) -> Iterator[tuple[str, str]]:
        told = set()
        for active in self._about.active_bindings.values():
            binding = active.binding
            if binding.id and binding.show and binding.id not in told:
                told.add(binding.id)
                yield self.app.get_key_display(binding), f"{binding.description}: {binding.tooltip}"


# The list of everything that can be done on the screen at hand: type a few letters, press enter.


class Palette(CommandPalette):
    """Textual's list, with words that every terminal can show."""

    def __init__(self) -> None:
        super().__init__(placeholder="What is to be done? Type a few letters.", id="--command-palette")


# One of several things, chosen from a list.


class PickScreen(Modal["int | None"]):
    """Ends with the index of what was chosen, or with None."""

    CSS_PATH = "pick.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Cancel", id="pick.cancel", tooltip="As before"),
    ]

    def __init__(self, title: str, options: Sequence[str]) -> None:
        super().__init__()
        self._title = title
        self._options = tuple(options)

    def compose(self) -> ComposeResult:
        with Vertical(id="pick"):
            yield Static(plain(self._title, "bold"))
            yield OptionList(*(plain(option) for option in self._options), id="options")
            yield panes_Footer(show_command_palette=False, compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)


# Asking for one line of text, checked as it is typed.


class PromptScreen(Dialog[str]):
    """Ends with a text that the check has nothing against, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [enter_takes("prompt.accept", "Take what stands in the field")]

    def __init__(
        self,
        title: str,
        text: str,
        *,
        hint: str = "",
        check: Callable[[str], str] | None = None,
        suggester: Suggester | None = None,
    ) -> None:
        super().__init__(title)
        self._text, self._hint, self._check, self._suggester = text, hint, check, suggester

    def body(self) -> Iterable[Widget]:
        yield Input(self._text, id="asked", compact=True, suggester=self._suggester)
        yield Static(plain(self._hint), classes="told")

    def on_input_changed(self, event: Input.Changed) -> None:
        self.complain(self._wrong(event.value))

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        self.action_accept()

    def action_accept(self) -> None:
        text = self.query_one("#asked", Input).value
        if not self._wrong(text):
            self.dismiss(text)

    def _wrong(self, text: str) -> str:
        return self._check(text) if self._check is not None else ""
