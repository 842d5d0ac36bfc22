"""Modes of inference: mode, NUTS, the cut posterior, and the evidence they leave behind."""
