"""Readers of /proc, /sys and debugfs, and the sampler over them."""
