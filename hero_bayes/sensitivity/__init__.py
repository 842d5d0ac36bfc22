"""How wrong the assumptions must be before the answer changes."""
