"""The pane of a device tells of its stripes, in the words that mkfs takes, and of what is wrong with them."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.devices.state import Claim, DeviceState, ListedDevice
from fsconsole.model.device import Device
from fsconsole.model.wire import encode
from fsconsole.show.device_details import details
from fsconsole.show.devices import Listing, parse_listing
from tests.unit.plan.test_arrays import MD0, MEMBER, PART, SDA


def listing_of(*devices: Device) -> Listing:
    state = DeviceState(Claim.FREE, "free")
    return parse_listing(
        encode(tuple(ListedDevice.of(device, state, (), ("a sentence",)) for device in devices))
    )


def pane(listing: Listing, path: str) -> dict[str, str]:
    entry = listing.at(path)
    assert entry is not None
    lines = details(entry, listing, 200, is_root=True, read_tests={})
    return {line.label.strip(): line.text for line in lines}


def test_of_an_array_it_tells_stripes_and_words_for_mkfs() -> None:
    told = pane(listing_of(SDA, MEMBER, MD0), "/dev/md0")
    assert told["stripes"] == "64KiB on each of 2 data disks, 128KiB in all"
    assert told["for mkfs"] == "ext4 -E stride=16,stripe_width=32; xfs -d su=64k,sw=2; mkfs sees that itself"
    assert "caution" not in told


def test_of_a_partition_off_the_stripes_it_cautions() -> None:
    part = replace(PART, partition_start_bytes=4096)
    told = pane(listing_of(SDA, MEMBER, MD0, part), "/dev/md0p1")
    assert told["caution"].startswith("/dev/md0p1 begins at byte 4096, inside a chunk of /dev/md0")


def test_of_a_disk_it_tells_no_stripes() -> None:
    told = pane(listing_of(SDA), "/dev/sda")
    assert not {"stripes", "for mkfs", "caution"} & set(told)
