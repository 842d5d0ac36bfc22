"""Plain reports on a terminal or a pipe: headings, paragraphs, tables, commands, the finding."""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["Report", "print_json"]

WIDTH = 100
INDENT = 2


class Report:
    """Writes one report to standard output; nothing is cut, with or without colour."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(highlight=False, markup=False, emoji=False, soft_wrap=False)
        terminal = self._console.is_terminal
        self._console.width = min(WIDTH, self._console.width) if terminal else WIDTH

    def title(self, text: str) -> None:
        """The first line."""
        self._console.print(text, style="bold", soft_wrap=True)

    def heading(self, text: str) -> None:
        """Start a section."""
        self._console.print()
        self._console.print(text.upper(), style="bold cyan")

    def text(self, text: str, indent: int = INDENT) -> None:
        """A paragraph, or one a line."""
        from rich.padding import Padding
        from rich.text import Text

        for line in text.splitlines():
            if not line:
                self._console.print()
                continue
            self._console.print(Padding(Text(line), (0, 0, 0, indent), expand=False))

    def gap(self) -> None:
        """An empty line."""
        self._console.print()

    def bullet(self, text: str, mark: str = "-") -> None:
        """A paragraph that hangs behind a mark."""
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(Text(" " * INDENT + mark), Text(text))
        self._console.print(grid)

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[str]],
        right: Sequence[str] = (),
        wide: Sequence[str] = (),
    ) -> None:
        """A table; columns in ``wide`` wrap, those in ``right`` are numbers."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for name in columns:
            table.add_column(
                name,
                justify="right" if name in right else "left",
                overflow="fold",
                no_wrap=False,
                min_width=None if name in wide else _longest_word(name),
            )
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        from rich.padding import Padding

        self._console.print(Padding(table, (0, 0, 0, INDENT), expand=False))

    def command(self, line: str) -> None:
        """A command on one line, so that it can be copied whole."""
        self._console.print(" " * INDENT + line, style="green", soft_wrap=True)

    def finding(self, sentence: str) -> None:
        """The last line of every report."""
        self._console.print()
        self._console.print(f"FINDING: {sentence}", style="bold", soft_wrap=True)


def print_json(content: Mapping[str, Any]) -> None:
    """Write one JSON object to standard output; what is not finite becomes null."""
    json.dump(_plain(content), sys.stdout, indent=2, allow_nan=False, ensure_ascii=False)
    sys.stdout.write("\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _longest_word(text: str) -> int:
    return max(len(word) for word in text.split())
