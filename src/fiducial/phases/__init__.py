"""Phases that several methods share, one per file."""
