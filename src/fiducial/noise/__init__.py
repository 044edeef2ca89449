"""Noise models, one per file."""
