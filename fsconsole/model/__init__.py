"""Values of the field: devices, variants, workloads, plans, observations. No I/O in here."""
