"""Plain reports on a terminal or a pipe: headings, paragraphs, tables, commands, the finding."""

import json
import math
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Report", "print_json"]

WIDTH = 100
INDENT = 2
#: Stands for a blank at which a line may not end, until it is written (a private code point).
JOINT = "\ue000"
#: An option and its value, quoted or not.
OPTION = re.compile(r"""(?<!\S)--[a-z][a-z-]* (?!--)(?:'[^']*'|"[^"]*"|[^\s'"])+""")


class Report:
    """Writes one report to standard output; nothing is cut, with or without colour.

    Options with their values are never broken across lines, nor is what ``whole`` holds.

    Parameters
    ----------
    *whole : Path or str
        What must stand on one line wherever it occurs, such as the paths that the report names.
    """

    def __init__(self, *whole: "Path | str") -> None:
        from rich.console import Console

        self._whole = tuple(str(one) for one in whole)

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
        for line in text.splitlines():
            if line:
                self._paragraph(line, " " * indent, " " * indent)
            else:
                self.gap()

    def gap(self) -> None:
        """An empty line."""
        self._write("")

    def bullet(self, text: str, mark: str = "-") -> None:
        """A paragraph that hangs behind a mark."""
        begin = f"{' ' * INDENT}{mark} "
        for line in text.splitlines():
            self._paragraph(line, begin, " " * len(begin))
            begin = " " * len(begin)

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
        cells = [[self._joined(cell) for cell in row] for row in rows]
        for at, name in enumerate(columns):
            words = [word for row in cells for word in row[at].split()]
            whole = [word for word in words if JOINT in word or word in self._whole]
            header = [] if name in wide else name.split()
            table.add_column(
                name,
                justify="right" if name in right else "left",
                overflow="fold",
                no_wrap=False,
                min_width=max(map(len, (*whole, *header)), default=None),
            )
        for row in cells:
            table.add_row(*map(Text, row))
        width = self._console.width
        self._write(table, indent=INDENT, width=width - INDENT, crop=False)

    def command(self, line: str) -> None:
        """A command on one line, so that it can be copied whole."""
        self._write(" " * INDENT + line, style="green", soft_wrap=True)

    def finding(self, sentence: str) -> None:
        """The last line of every report."""
        self.gap()
        self._write(f"FINDING: {sentence}", style="bold", soft_wrap=True)

    def _joined(self, text: str) -> str:
        """The text, joints for the blanks at which no line may end."""
        for one in self._whole:
            text = text.replace(one, one.replace(" ", JOINT))
        return OPTION.sub(lambda found: found[0].replace(" ", JOINT), text)

    def _paragraph(self, text: str, begin: str, then: str) -> None:
        """One paragraph; a word longer than the line, such as a path, stands out of it."""
        lines = textwrap.wrap(
            self._joined(text),
            self._console.width,
            initial_indent=begin,
            subsequent_indent=then,
            break_long_words=False,
            break_on_hyphens=False,
        )
        self._write("\n".join(lines), soft_wrap=True)

    def _write(self, content: Any, indent: int = 0, **settings: Any) -> None:
        """Render, drop blanks at line ends, and write at once.

        Written by hand because rich answers a closed pipe with an exit code of its own.
        """
        with self._console.capture() as captured:
            self._console.print(content, **settings)
        lines = captured.get().replace(JOINT, " ").split("\n")
        sys.stdout.write("\n".join((" " * indent + line).rstrip() for line in lines))
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
