"""Plain text tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], header: Sequence[str] | None = None, align: str = "", indent: int = 0) -> str:
    """Columns padded to their widest cell.

    Args:
        rows: cells as text, every row as long as the others.
        header: a first row, underlined; None for none.
        align: one letter a column, l or r; columns beyond it are l.
        indent: spaces before every line.

    Returns:
        The lines, joined, without a newline at the end and without trailing blanks.
    """
    body = [list(row) for row in rows]
    shown = ([list(header)] if header else []) + body
    if not shown:
        return ""
    count = max(len(row) for row in shown)
    widths = [max((len(row[i]) for row in shown if i < len(row)), default=0) for i in range(count)]
    align = align.ljust(count, "l")

    def line(row: Sequence[str]) -> str:
        cells = [cell.rjust(widths[i]) if align[i] == "r" else cell.ljust(widths[i]) for i, cell in enumerate(row)]
        return (" " * indent + "  ".join(cells)).rstrip()

    lines = [line(row) for row in body]
    if header:
        lines = [line(list(header)), " " * indent + "  ".join("-" * width for width in widths), *lines]
    return "\n".join(lines)
