"""Phases, one a file: the stretches of a run of which methods are composed."""
