"""Methods, one per file; found by name."""
