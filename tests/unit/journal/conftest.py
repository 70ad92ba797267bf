"""A small run request, and the folder of a run that was made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import create_run, make_run_id
from fsconsole.model.device import Fingerprint, Hazard, Identity, Verdict
from fsconsole.model.plan import ArraySpec, Setting, Variant
from fsconsole.model.run import RunRequest, Target
from tests.unit.results import build

RequestMaker = Callable[..., RunRequest]
WRITEBACK = Variant("ext4, writeback", "ext4", ("-O", "^64bit"), ("data=writeback",))


@pytest.fixture
def make_request() -> RequestMaker:
    def make(cells: int = 3, **changes: str) -> RunRequest:
        unavailable = {2: "the kernel has no such filesystem"}
        planned = [build.cell(index, WRITEBACK, unavailable=unavailable.get(index, "")) for index in range(cells)]
        planned[0] = replace(planned[0], setting=Setting((("read_ahead", "128KiB"),)))
        planned[1] = replace(planned[1], array=ArraySpec("raid5", 65536))
        identity = Identity("loop7", "b0071d", 7 * 256 + 9, 2**31, diskseq=2**63 + 1)
        hazard = Hazard("signature", Verdict.ASKED, "/dev/loop7", "holds ext4 'a\udcff'", "")
        target = Target("/dev/loop7", Fingerprint(identity, (), (), "ab" * 32, ("8", "0")), (hazard,), "k7qf-22aa")
        request = build.request(planned, title="ext4 \x1b[31m[/red]")
        return replace(request, run_id=changes.get("run_id", make_run_id()), targets=(target,))

    return make


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, make_request: RequestMaker) -> RunFolder:
    return create_run(str(tmp_path_factory.mktemp("runs")), make_request())
