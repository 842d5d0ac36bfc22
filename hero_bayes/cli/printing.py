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

        self._console = Console(highlight=False, markup=False, emoji=False)
        terminal = self._console.is_terminal
        self._console.width = min(WIDTH, self._console.width) if terminal else WIDTH

    def title(self, text: str) -> None:
        """The first line."""
        self._write(text, style="bold", soft_wrap=True)

    def heading(self, text: str) -> None:
        """Start a section."""
        self.gap()
        self._write(text.upper(), style="bold cyan")

    def text(self, text: str, indent: int = INDENT) -> None:
        """A paragraph per line of the text; an empty line stays one."""
        from rich.padding import Padding
        from rich.text import Text

        for line in text.splitlines():
            if line:
                self._write(Padding(Text(line), (0, 0, 0, indent), expand=False))
            else:
                self.gap()

    def gap(self) -> None:
        """An empty line."""
        self._write("")

    def bullet(self, text: str, mark: str = "-") -> None:
        """A paragraph that hangs behind a mark."""
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(Text(" " * INDENT + mark), Text(text))
        self._write(grid)

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[str]],
        right: Sequence[str] = (),
        wide: Sequence[str] = (),
    ) -> None:
        """A table; columns in ``wide`` wrap, those in ``right`` are numbers."""
        from rich import box
        from rich.padding import Padding
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
        self._write(Padding(table, (0, 0, 0, INDENT), expand=False))

    def command(self, line: str) -> None:
        """A command on one line, so that it can be copied whole."""
        self._write(" " * INDENT + line, style="green", soft_wrap=True)

    def finding(self, sentence: str) -> None:
        """The last line of every report."""
        self.gap()
        self._write(f"FINDING: {sentence}", style="bold", soft_wrap=True)

    def _write(self, content: Any, **settings: Any) -> None:
        """Render, drop blanks at line ends, and write at once.

        Written by hand because rich answers a closed pipe with an exit code of its own.
        """
        with self._console.capture() as captured:
            self._console.print(content, **settings)
        lines = captured.get().split("\n")
        sys.stdout.write("\n".join(line.rstrip() for line in lines))
        sys.stdout.flush()


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
