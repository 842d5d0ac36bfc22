"""Numbers in sentences; imports nothing, so that the command line starts at once."""

__all__ = ["number_of"]


def number_of(count: int, noun: str) -> str:
    """Say how many: "1 item", "2,000 items"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
