"""Work that takes long, in a thread that nobody waits for when the console ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from fsconsole.errors import FsconsoleError

T = TypeVar("T")


async def beside(work: Callable[[], T]) -> T:
    """Return what the work gives, while the screen goes on; raises what it raises.

    The loop's own threads would be waited for at the end, and a plan of 10,000 cells takes seconds to work out.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[T] = loop.create_future()

    def tell(act: Callable[[], None]) -> None:
        # The loop may be closed by now, and whoever waited may be gone.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if found.done() else act())

    def carry_out() -> None:
        try:
            value = work()
        except FsconsoleError as error:
            known = error
            tell(lambda: found.set_exception(known))
        except BaseException as error:
            # A fault of the program: raised where the work was asked for, and here.
            unknown = error
            tell(lambda: found.set_exception(unknown))
            raise
        else:
            tell(lambda: found.set_result(value))

    threading.Thread(target=carry_out, daemon=True).start()
    return await found
