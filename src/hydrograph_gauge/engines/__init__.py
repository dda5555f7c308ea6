"""Engines under test, each behind one module."""
