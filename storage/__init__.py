"""The object store: a local folder or S3 behind one interface."""
