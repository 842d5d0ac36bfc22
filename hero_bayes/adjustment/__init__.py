"""Control variates after the fact: HERO-2 applied to a fitted posterior."""
