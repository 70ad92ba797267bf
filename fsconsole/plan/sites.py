"""What the filesystems of a plan are made on: its targets, or arrays of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.model.plan import ArraySpec
from fsconsole.plan.array_place import ArraySupport, array_place, array_reasons, members_of
from fsconsole.plan.axes import array_choices
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.target import TargetSpec


@dataclass(frozen=True, slots=True)
class Site:
    """A target, or an array of several."""

    target: TargetSpec
    array: ArraySpec | None = None
    members: tuple[TargetSpec, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why the array can't be made."""


def sites_of(plan_file: PlanFile, targets: Sequence[TargetSpec], support: ArraySupport) -> tuple[Site, ...]:
    """Return every site of a plan. Raises PlanBadValue."""
    arrays = [spec for spec in array_choices(plan_file) if spec is not None]
    if not arrays:
        return tuple(Site(target) for target in targets)
    return tuple(_array_site(spec, targets, support) for spec in arrays)


def _array_site(spec: ArraySpec, targets: Sequence[TargetSpec], support: ArraySupport) -> Site:
    members = members_of(spec, targets)
    return Site(array_place(spec, members), spec, members, array_reasons(spec, targets, support))
