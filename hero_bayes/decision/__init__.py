"""Release decisions: rules as data, what a fit says of them, and arms against each other."""
