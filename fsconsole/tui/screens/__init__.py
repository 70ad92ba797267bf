"""One screen a file, its style beside it."""
