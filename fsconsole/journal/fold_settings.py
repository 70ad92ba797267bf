"""Which settings a run holds, from what it took and gave back."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.model.observation import SettingReturned, SettingSeen, SettingTaken
from fsconsole.model.state import HeldSetting

Held = tuple[HeldSetting, ...]


def note_setting(held: Held, observation: SettingTaken | SettingSeen | SettingReturned) -> Held:
    """Return what is held after one more observation; what was taken last is given back first."""
    if isinstance(observation, SettingTaken):
        return (*held, HeldSetting(observation))
    place = _last(held, observation)
    if place < 0:
        return held
    if isinstance(observation, SettingReturned):
        return held[:place] + held[place + 1 :]
    if observation.step != held[place].taken.step or held[place].seen:
        return held
    return (*held[:place], replace(held[place], seen=observation.value), *held[place + 1 :])


def _last(held: Held, observation: SettingSeen | SettingReturned) -> int:
    """Return the index of the last setting taken that an observation is about; -1 where there is none."""
    key = (observation.cell, observation.attempt, observation.path)
    found = [
        index for index, one in enumerate(held) if (one.taken.cell, one.taken.attempt, one.taken.path) == key
    ]
    return found[-1] if found else -1
