"""Estimators without sampling: majority vote, Dawid-Skene, gold rates, HERO-1, HERO-2."""
