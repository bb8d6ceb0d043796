"""Generators of problem suites: trusted code that writes problem files and runs no candidate."""
