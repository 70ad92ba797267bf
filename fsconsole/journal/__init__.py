"""The run's journal: schema, writer, reader, fold, and the store of run folders."""
