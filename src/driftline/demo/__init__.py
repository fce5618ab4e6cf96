"""Demonstrations on streams that are made here."""
