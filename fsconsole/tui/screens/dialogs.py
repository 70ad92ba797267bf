"""Dialogs: a question, a choice, a line of text, a form, the help of a screen; all on one base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Button, Input, Label, OptionList, Static

from fsconsole.journal.folder import RunFolder
from fsconsole.show.going import Going, question
from fsconsole.show.lines import Line, TextLine, text_lines
from fsconsole.tui import keys
from fsconsole.tui.session import Session, session_of
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.widgets.chrome import Keys
from fsconsole.tui.widgets.lists import Choices, List
from fsconsole.tui.widgets.rows import Spans, Texts

if TYPE_CHECKING:
    # With all of the plan's modules, which the first screen is there sooner without.
    from fsconsole.show.plan_forms import FormField

T = TypeVar("T")
_KEY = 10
"""Columns that the names of keys take."""


class Dialog(ModalScreen[T | None]):
    """A title, a body, a line for what is wrong, keys; ends once, with what was asked for or with None."""

    CSS_PATH = str(Path(__file__).with_name("dialog.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("dialog")
    _is_left = False
    _kept: tuple[T | None] | None = None
    """The result to end with, once nothing is over the dialog and its mode is shown."""

    def __init__(self, title: str = "", *, yes: str = "") -> None:
        """Take the title, and the verb of what accepting does, for the footer."""
        super().__init__()
        self._heading, self._yes = title, yes

    @property
    def session(self) -> Session:
        return session_of(self)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(plain(self._heading, "bold"), id="dialog-title")
            yield from self.body()
            yield Static(plain(""), id="dialog-wrong")
        yield Keys(self.applies, self.label_of)

    def applies(self, _action: str) -> bool:
        """Return whether the footer shows the key of an action."""
        return True

    def label_of(self, action: str) -> str:
        """Return what an action does, in a word for the footer; empty for the word in the table of keys."""
        return self._yes if action == "accept" else ""

    def body(self) -> Iterable[Widget]:
        return ()

    def action_close(self) -> None:
        """Do what escape does."""
        self.dismiss(None)

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """End with a result, as soon as this is the screen on top; a second end is none."""
        if self._is_left:
            return AwaitComplete()
        if not self.is_active:
            # A worker ends it while it is covered: Textual would pop the screen on top, whichever that is.
            self._kept = self._kept or (result,)
            return AwaitComplete()
        self._is_left = True
        return super().dismiss(result)

    def on_screen_resume(self) -> None:
        if self._kept is not None:
            self.dismiss(self._kept[0])

    def complain(self, words: str) -> None:
        """Show what is wrong, or take it back with nothing."""
        wrong = self.query_one("#dialog-wrong", Static)
        wrong.update(plain(words, "$error"))
        wrong.display = bool(words)
        if words:
            # A long sentence makes the dialog higher than the screen: it, and not the list, must be in sight.
            self.call_after_refresh(wrong.scroll_visible, animate=False)

    def on_input_submitted(self) -> None:
        self.action_accept()

    def action_accept(self) -> None:
        """End with what was asked for, where nothing is wrong with it."""


class AskScreen(Dialog[bool]):
    """Asks before something that can't be undone; y does it, n and escape don't."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("question")

    def __init__(self, question: str, explanation: str, *, yes: str, no: str = "Cancel") -> None:
        super().__init__(question)
        self._explanation, self._answers = explanation, (yes, no)

    def body(self) -> Iterable[Widget]:
        yes, no = self._answers
        yield Static(plain(self._explanation))
        with Horizontal():
            yield Button(plain(f"n  {no}"), id="no", compact=True)
            yield Button(plain(f"y  {yes}"), id="yes", compact=True)

    def label_of(self, action: str) -> str:
        return self._answers[1] if action == "dismiss(False)" else ""

    def on_mount(self) -> None:
        # Enter does no harm there.
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")


class AttachScreen(Dialog[RunFolder]):
    """Offers to show a running run; ends with its folder. The keys of other screens work here too."""

    HELP: ClassVar[str] = (
        "A run continues whether or not a console shows it.\n"
        "Enter shows it; escape leaves it alone. Later, 3 shows the newest, and 5 lists all."
    )
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("attach")

    def __init__(self, runs: Sequence[Going]) -> None:
        super().__init__(question(runs))
        self._runs = tuple(runs)

    def body(self) -> Iterable[Widget]:
        yield OptionList(*(lines(plain(run.title), plain(f"  {run.place}")) for run in self._runs), id="going")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._runs[event.option_index].folder)

    def action_attach(self) -> None:
        self.dismiss(self._runs[self.query_one(OptionList).highlighted or 0].folder)

    async def action_quit(self) -> None:
        self.dismiss(None)
        await self.app.action_quit()

    def action_elsewhere(self, mode: str) -> None:
        self.dismiss(None)
        self.app.switch_mode(mode)


class PickScreen(Dialog[str]):
    """Ends with the key of one of several lines."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("pick")

    def __init__(self, title: str, options: Sequence[Line], *, yes: str = "") -> None:
        super().__init__(title, yes=yes)
        self._options = options

    def body(self) -> Iterable[Widget]:
        yield Choices(id="options", ticks=False)

    def on_mount(self) -> None:
        self.query_one("#options", Choices).show_lines(self._options)

    def on_list_opened(self, event: Choices.Opened) -> None:
        self.dismiss(event.key)

    def action_accept(self) -> None:
        self.query_one("#options", Choices).action_open()


class PromptScreen(Dialog[str]):
    """Asks for a line of text, checked as it is typed; ends with one that the check has nothing against."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("prompt")

    def __init__(  # noqa: PLR0913 (each is a fact of its own)
        self,
        title: str,
        text: str,
        *,
        yes: str = "",
        hint: str | Callable[[str], str] = "",
        check: Callable[[str], str] = lambda _text: "",
        suggester: Suggester | None = None,
    ) -> None:
        """Take what is told below the field, line by line, always or of what is typed, and what says what is wrong with that."""
        super().__init__(title, yes=yes)
        self._text, self._check, self._suggester = text, check, suggester
        self._hint = hint if callable(hint) else lambda _text: hint

    def body(self) -> Iterable[Widget]:
        yield Input(self._text, id="asked", compact=True, suggester=self._suggester)
        yield Static(self._told(self._text), classes="told")

    def on_input_changed(self, event: Input.Changed) -> None:
        self.query_one(".told", Static).update(self._told(event.value))
        self.complain(self._check(event.value))

    def _told(self, text: str) -> Content:
        return lines(*map(plain, self._hint(text).split("\n")))

    def action_accept(self) -> None:
        text = self.query_one("#asked", Input).value
        if not self._check(text):
            self.dismiss(text)


class RoundsScreen(PromptScreen):
    """Asks for a number of rounds, which + and - step."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("rounds")

    def action_step(self, by: int) -> None:
        """Step the number as far as it may go."""
        field = self.query_one("#asked", Input)
        text = field.value.strip()
        if not text.isdecimal():
            self.complain(f"'{text}' is no number to step: type one.")
        elif why := self._check(stepped := str(int(text) + by)):
            self.complain(why)
        else:
            field.value = stepped
        # What is typed next replaces it.
        field.action_select_all()


class FormScreen(Dialog[T]):
    """Ends with what the fields come to, once nothing is wrong with them."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("form")

    def __init__(
        self,
        title: str,
        fields: Sequence[FormField],
        judge: Callable[[Mapping[str, str]], tuple[str, str]],
        result: Callable[[Mapping[str, str]], T],
        *,
        yes: str = "",
    ) -> None:
        """Judge gives the key of a field and what is wrong with it, both empty where nothing is; result: of what is good."""
        super().__init__(title, yes=yes)
        self._fields, self._judged, self._result = tuple(fields), judge, result

    def body(self) -> Iterable[Widget]:
        with VerticalScroll(id="form", can_focus=False):
            for field in self._fields:
                with Horizontal(classes="field -wide" if field.is_wide else "field"):
                    yield Label(plain(field.key))
                    yield Input(field.text, id=f"field-{field.key}", compact=True)
                    if not field.is_wide:
                        yield Static(plain(field.hint), classes="hint")
                if field.is_wide:
                    yield Static(plain(field.hint), classes="below")
                yield Static(plain(""), id=f"wrong-{field.key}", classes="wrong")

    def applies(self, action: str) -> bool:
        return action != "app.focus_next" or len(self._fields) > 1

    def on_input_changed(self, _event: Input.Changed) -> None:
        self._judge()

    def action_accept(self) -> None:
        if wrong := self._judge():
            self.query_one(f"#field-{wrong}").focus()
        else:
            self.dismiss(self._result(self._texts()))

    def _judge(self) -> str:
        wrong, words = self._judged(self._texts())
        for field in self._fields:
            below = self.query_one(f"#wrong-{field.key}", Static)
            below.update(plain(words if field.key == wrong else ""))
            below.display = field.key == wrong
        return wrong

    def _texts(self) -> dict[str, str]:
        return {field.key: self.query_one(f"#field-{field.key}", Input).value for field in self._fields}


class HelpScreen(Dialog[None]):
    """Says what a screen is for, and lists its keys."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("help")

    def __init__(self, screen: Screen[object]) -> None:
        super().__init__()
        self._about = screen

    def body(self) -> Iterable[Widget]:
        yield List(id="help")

    def on_mount(self) -> None:
        self.query_one(List).show(lambda width: Texts(self._told(width - 1)))
        self.query_one(List).focus()

    def _told(self, width: int) -> list[TextLine]:
        purpose = getattr(self._about, "HELP", "").strip().splitlines()
        nodes = [self._about, *self._about.walk_children(), *([] if self._about.is_modal else [self.app])]
        told: dict[str, keys.Use] = {}
        for node in nodes:
            for place in keys.places_of(type(node)):
                for name, use in keys.keys_of(place):
                    if not isinstance(node, Choices) or node.has_use(use.action):
                        # The screen comes before its widgets: of a key that both have, its own use is told.
                        told.setdefault(name, use)
        places = {use.place for use in told.values()}
        uses = [*told.items(), *(("ctrl+p", use) for use in keys.COMMANDS if use.place in places)]
        return [
            *(row for line in purpose for row in text_lines(line, width)),
            TextLine(""),
            TextLine("Keys", "strong"),
            *(
                row
                for name, use in uses
                for row in text_lines(
                    f"{self._label(use)}: {use.does}{'; asks' if use.asks else ''}", width, lead=f"{name:<{_KEY}} "
                )
            ),
        ]

    def _label(self, use: keys.Use) -> str:
        """Return what a key does now, as the footer of the screen says."""
        return self._about.query_one(Keys).label_of(use.action) or use.label


class OutputScreen(Dialog[None]):
    """Shows lines that are too long for a pane, made for the width: what a command printed."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("output")

    def __init__(self, lines_for: Callable[[int], Sequence[TextLine | Spans]]) -> None:
        super().__init__()
        self._lines_for = lines_for

    def body(self) -> Iterable[Widget]:
        yield List()

    def on_mount(self) -> None:
        self.query_one(List).show(lambda width: Texts(self._lines_for(width - 1)))
        self.query_one(List).focus()
