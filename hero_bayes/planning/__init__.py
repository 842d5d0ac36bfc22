"""What to collect next: which items to give gold, and how large a round must be."""
