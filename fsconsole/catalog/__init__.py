"""The filesystems and options that fsconsole knows."""
