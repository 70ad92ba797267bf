"""Discovery, identity, hazards and scratch devices."""
