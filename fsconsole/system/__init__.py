"""The only door to the kernel and to programs."""
