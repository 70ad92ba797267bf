"""The console, whose form for a scratch device offers a small one in a directory of the test's own; all else is as it is.

python small_scratch.py DIRECTORY SIZE WORDS_OF_FSCONSOLE...
"""

from __future__ import annotations

import sys

from fsconsole.cli.main import main
from fsconsole.tui.screens import scratch_form

if __name__ == "__main__":
    directory, size, *sys.argv[1:] = sys.argv[1:]
    scratch_form.default_size = lambda _room: size
    scratch_form.ScratchForm.__init__.__defaults__ = (directory,)
    sys.exit(main())
