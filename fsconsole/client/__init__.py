"""Starting an engine, attaching to it, asking it for something."""
