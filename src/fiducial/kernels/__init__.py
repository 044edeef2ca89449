"""Samplers of the errors, one file each."""
