"""The operations that the built-in generator's threads perform."""
