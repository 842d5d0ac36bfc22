"""Simulated rounds with known truth, and studies of the estimators on them."""
