"""`python -m fsconsole`: the same as the command fsconsole."""

from __future__ import annotations

import sys

from fsconsole.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
