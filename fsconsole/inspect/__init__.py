"""What a filesystem did: extents, effective features, check verdicts."""
