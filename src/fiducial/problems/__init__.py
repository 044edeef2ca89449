"""Ready problems, one per file; found by name."""
