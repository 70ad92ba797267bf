"""fsconsole: compares filesystems on your own disks, with figures you can trace."""

__version__ = "0.1.0"
