"""An engine on a machine that is disturbed in certain cells.

python rounds_engine.py RUN_FOLDER SCRIPT, a JSON object: {"cold": [3], "burn": [3], "dear": [3], "hang": [6]}. Cells
count from 0. cold: the counter of page reporting grows in them; dear: their CPU clock runs six times too fast; burn: the
file "burn" is there beside the run's folder while they load, for a process that uses a CPU then; hang: the engine stands
still in their loads. Whatever else disturbs this machine goes unseen. faster: the journal has equal figures of all cells,
but of these the load's rate is half as high again.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from msgspec.structs import replace

from fsconsole.engine import runner
from fsconsole.engine.steps import HANDLERS, load
from fsconsole.engine.work import CellWork
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import StepFinished
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.rounds import CAUSES
from fsconsole.telemetry.page_reporting import ReportedMemory
from fsconsole.text import GIB

BURNER = "burns-in-tests"
"""Name of a process."""


def disturb(script: dict[str, list[int]]) -> None:
    """Have everything happen that the script says, and nothing else."""
    now = [-1]
    load_step, warn = HANDLERS[StepKind.WORKLOAD], CellWork.warn
    measured = load.protocol.generator_measurements

    def counted(_self) -> int:
        return GIB if now[0] in script.get("cold", ()) else 0

    def disturbed(work, step):
        now[0] = work.cell.index
        while now[0] in script.get("hang", ()):
            time.sleep(1)
        if now[0] not in script.get("burn", ()):
            return load_step(work, step)
        marker = Path(work.run.folder_path).with_name("burn")
        marker.touch()
        try:
            return load_step(work, step)
        finally:
            marker.unlink()

    def warn_of_others(work, kind, reason, hint):
        if kind not in CAUSES or BURNER in reason:
            warn(work, kind, reason, hint)

    def by_clock(result, done_ns):
        known = [figure for figure in measured(result, done_ns) if figure.metric is not Metric.GENERATOR_PER_GIB]
        return (*known, Measurement(Metric.GENERATOR_PER_GIB, 3.0 if now[0] in script.get("dear", ()) else 0.5))

    record = JournalWriter.record

    def even(self, observation, **options):
        if isinstance(observation, StepFinished):
            figures = {Metric.MKFS: 1.0, Metric.DURABLE: 1.5e6 if observation.cell in script["faster"] else 1e6}
            measured = tuple(Measurement(m.metric, figures.get(m.metric, m.value)) for m in observation.measurements)
            observation = replace(observation, measurements=measured)
        record(self, observation, **options)

    if "faster" in script:
        JournalWriter.record = even
    ReportedMemory.since_last, HANDLERS[StepKind.WORKLOAD] = counted, disturbed
    CellWork.warn, load.protocol.generator_measurements = warn_of_others, by_clock
    runner.is_reporting = lambda: True


if __name__ == "__main__":
    disturb(json.loads(sys.argv[2]))
    sys.exit(runner.main([sys.argv[1]]))
