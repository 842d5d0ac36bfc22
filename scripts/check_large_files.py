"""Fail when a file given on the command line is larger than the repository should hold."""

import sys
from pathlib import Path

LIMIT_KIB = 1024


def oversized(names: list[str]) -> list[str]:
    """Name the files above the limit, with their size."""
    sizes = {name: Path(name).stat().st_size / 1024 for name in names if Path(name).is_file()}
    return [f"{name}: {size:.0f} KiB" for name, size in sizes.items() if size > LIMIT_KIB]


if __name__ == "__main__":
    found = oversized(sys.argv[1:])
    if found:
        sys.exit(f"Files above {LIMIT_KIB} KiB:\n" + "\n".join(found))
