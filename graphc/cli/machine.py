"""`graphc devices` and `graphc cache`."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from graphc.config import VARIABLES, settings
from graphc.errors import GraphcError
from graphc.units import age, amount, count

if TYPE_CHECKING:
    from rich.console import Console


def devices(_: Namespace) -> int:
    """Show the backends that are installed, what each needs, and how every setting is understood."""
    from rich.console import Console

    console = Console()
    _backends(console)
    _settings(console)
    return 0


def _backends(console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    from graphc.runtime import backend

    table = Table("backend", "state", "about", title="backends", title_justify="left")
    for name, reason in sorted(backend.status().items()):
        about = backend.get(name).describe() if reason is None else {}
        lines = "\n".join(f"{key}: {value}" for key, value in about.items())
        table.add_row(name, escape(reason or "ready"), escape(lines))
    console.print(table)
    try:
        chosen = ", then ".join(found.name for found in backend.select())
    except GraphcError as error:
        chosen = f"none, because {error.message}"
    console.print(f"in use: {chosen}\n", highlight=False, markup=False)


def _settings(console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("variable", "value", "meaning", title="settings", title_justify="left")
    for name, variable in VARIABLES.items():
        try:
            value = getattr(settings, name)
        except GraphcError as error:
            table.add_row(variable.env, f"[red]{escape(error.message)}[/red]; use {variable.works}", variable.doc)
            continue
        table.add_row(variable.env, escape(_text(value)), variable.doc)
    console.print(table)


def _text(value: object) -> str:
    """A setting as one would write it into its variable."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, frozenset):
        value = ",".join(sorted(value))
    return "-" if value is None or value == "" else str(value)


def cache(options: Namespace) -> int:
    """List, check or remove what is in the cache folder. 1 if a check found damage."""
    from rich.console import Console

    from graphc.runtime import cache as store

    console = Console(highlight=False)
    if options.action == "ls":
        _list(console, store.entries())
    elif options.action == "clear":
        console.print(f"removed {count(store.clear(), 'file')} from {settings.cache_dir}", soft_wrap=True)
    else:
        damaged = store.verify()
        for entry in damaged:
            console.print(f"damaged, and removed: {entry.path}", soft_wrap=True)
        console.print(f"{count(len(store.entries()), 'sound entry', 'sound entries')}")
        return int(bool(damaged))
    return 0


def _list(console: Console, entries: list) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("entry", "kind", title=escape(str(settings.cache_dir)), title_justify="left")
    table.add_column("size", justify="right")
    table.add_column("last used", justify="right")
    for entry in entries:
        table.add_row(entry.name, entry.kind, amount(entry.nbytes, 'B'), age(entry.age))
    console.print(table)
    console.print(f"{count(len(entries), 'entry', 'entries')}, {amount(sum(entry.nbytes for entry in entries), 'B')}")
