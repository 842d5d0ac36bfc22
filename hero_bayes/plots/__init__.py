"""Figures: the only room, with reports, that needs matplotlib."""
