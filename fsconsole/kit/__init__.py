"""The apply kit: a row's filesystem on other devices, as text that is reviewed and run by hand. It does no I/O."""
