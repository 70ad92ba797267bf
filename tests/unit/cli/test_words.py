"""Words that are taken as they were typed are what typer would have made of them."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer
from typer.main import get_group

from fsconsole.cli.app import Group
from fsconsole.errors import Misused

Taken = dict[str, object]


def app(cls: type[Group] | None, taken: Taken) -> typer.Typer:
    made = typer.Typer(cls=cls, rich_markup_mode=None, add_completion=False)

    @made.command("do")
    def do(
        first: str,
        others: Annotated[list[str] | None, typer.Argument()] = None,
        *,
        name: Annotated[str, typer.Option("--name")] = "none",
        each: Annotated[list[str] | None, typer.Option("--each")] = None,
        count: Annotated[int, typer.Option("--count")] = 3,
        flag: Annotated[bool, typer.Option("--flag")] = False,
    ) -> None:
        taken.update(first=first, others=others, name=name, each=each, count=count, flag=flag)

    @made.command("rest")
    def rest() -> None:
        """Stand beside, so that this is a group."""

    return made


def said(cls: type[Group] | None, words: list[str]) -> Taken:
    taken: Taken = {}
    get_group(app(cls, taken)).main(["do", *words], standalone_mode=False)
    return taken


def test_words_are_what_typer_would_make_of_them_and_still_checked() -> None:
    for words in (
        ["one"],
        ["one", "two", "three"],
        ["one", "--each", "a", "--each", "b", "--count", "7", "--flag"],
        ["--name", "12", "--", "--flag", "-x"],
        ["grün", "--name", "\N{SNOWMAN}"],
    ):
        assert said(Group, words) == said(None, words)
    for empty in ([""], ["one", "two", ""], ["one", "--name", ""], ["one", "--each", ""]):
        with pytest.raises(Misused, match="is empty"):
            said(Group, empty)
    with pytest.raises(typer.TyperException, match="integer"):
        said(Group, ["one", "--count", "many"])
    with pytest.raises(typer.TyperException):
        said(Group, [])
