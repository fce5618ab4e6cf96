"""Comparators, identities, bounds and regret curves."""
