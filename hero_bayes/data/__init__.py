"""Label tables: reading, checking, selecting, aligning, and the bundled real data."""
