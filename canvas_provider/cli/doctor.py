"""`canvas-provider doctor`: what stands between an extension and a panel that works."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from canvas_provider.cli.checkup import examine
from canvas_provider.cli.dev import find_extension
from canvas_provider.cli.finding import Finding

__all__ = ["doctor"]

MARKS: Final = {"ok": ("✓", "green"), "note": ("·", None), "warning": ("!", "yellow")}
"""Anything else is an error."""


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True), default=".")
@click.option("--json", "as_json", is_flag=True, help="Print the rows as JSON.")
def doctor(path: Path, as_json: bool) -> None:
    """Look for what could go wrong with PATH, a .py file or a folder with extension.py.

    It is started once, as Copilot does, but opens no canvas. Ends with 1 if something is wrong.
    """
    findings = examine(find_extension(path))
    failed = _print_json(findings) if as_json else _print_rows(findings)
    raise SystemExit(1 if failed else 0)


def _print_json(findings: Iterable[Finding]) -> bool:
    rows = [asdict(finding) for finding in findings]
    failed = any(row["level"] == "error" for row in rows)
    click.echo(json.dumps({"ok": not failed, "findings": rows}, indent=2))
    return failed


def _print_rows(findings: Iterable[Finding]) -> bool:
    """Show each row as soon as it is known."""
    failed = False
    for finding in findings:
        failed |= finding.level == "error"
        mark, colour = MARKS.get(finding.level, ("✗", "red"))
        first, *more = finding.text.splitlines() or [""]
        click.echo(f"{click.style(mark, fg=colour)} {finding.check:<16} {first}")
        for line in more:
            click.echo(f"{'':19}{line}")
        if finding.fix:
            click.echo(f"{'':19}→ {finding.fix}")
    return failed
