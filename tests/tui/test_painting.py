"""What painting costs: a line that hasn't changed isn't filtered again."""

from __future__ import annotations

import pytest

from fsconsole.show.terminal import Colours
from tests.tui.harness import console


@pytest.mark.parametrize("colours", Colours)
def test_the_filters_stay_the_same_so_that_what_they_made_of_a_line_is_kept(colours: Colours) -> None:
    app = console(colours=colours)
    first, again = app.get_line_filters(), app.get_line_filters()
    assert [id(one) for one in first] == [id(one) for one in again]
