"""What the built-in generator can do with one file; one module per family of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fsconsole.model.workload import WorkloadKind
from fsconsole.workloads.ops.base import Means, Operation
from fsconsole.workloads.ops.names import Delete, Stat
from fsconsole.workloads.ops.random_access import random_read, random_write
from fsconsole.workloads.ops.reading import Read
from fsconsole.workloads.ops.writing import Append, Create

MAKERS: Mapping[WorkloadKind, Callable[[Means], Operation]] = {
    WorkloadKind.CREATE: Create,
    WorkloadKind.APPEND: Append,
    WorkloadKind.READ: Read,
    WorkloadKind.RANDOM_READ: random_read,
    WorkloadKind.RANDOM_WRITE: random_write,
    WorkloadKind.STAT: Stat,
    WorkloadKind.DELETE: Delete,
}
