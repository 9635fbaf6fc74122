"""`graphc devices` and `graphc cache`."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from graphc.cli.units import age, size
from graphc.config import VARIABLES, settings, unknown_variables
from graphc.errors import GraphcError

if TYPE_CHECKING:
    from rich.console import Console


def devices() -> int:
    """Show the backends that are installed, what each needs, and how every setting is understood."""
    from rich.console import Console

    console = Console()
    _backends(console)
    _settings(console)
    for name in unknown_variables():
        console.print(f"{name} is set, but nothing reads it: a misspelling?", style="yellow", highlight=False)
    return 0


def _backends(console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    import graphc as gc

    table = Table("backend", "state", "from", title="backends", title_justify="left")
    chosen = gc.get_backend_name()
    for entry in sorted(entry_points(group="graphc.backends"), key=lambda entry: entry.name):
        state = _state(entry)
        if entry.name == chosen:
            state += " (chosen)"
        table.add_row(entry.name, escape(state), entry.value)
    console.print(table)
    console.print(f"C compiler: {_compiler()}\n", highlight=False, soft_wrap=True)


def _compiler() -> str:
    from graphc.runtime.compiler import find_compiler

    try:
        found = find_compiler()
    except GraphcError as error:
        return f"{error.message}; {error.fix}"
    return f"{' '.join(found.command)} ({found.identity.splitlines()[0]})"


def _state(entry) -> str:
    """'ready', or the first line of why not. A plug-in may fail in any way, and the table must still be shown."""
    try:
        entry.load()()
    except Exception as error:
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    return "ready"


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
        text = ", ".join(sorted(value)) if isinstance(value, frozenset) else str(value)
        table.add_row(variable.env, escape(text) or "-", variable.doc)
    console.print(table)


def cache(action: str) -> int:
    """List, check or remove what is in the cache folder. 1 if a check found damage."""
    from rich.console import Console

    from graphc.runtime import cache as store

    console = Console(highlight=False)
    if action == "ls":
        _list(console, store.entries())
    elif action == "clear":
        console.print(f"removed {_count(store.clear(), 'file')} from {settings.cache_dir}", soft_wrap=True)
    else:
        damaged = store.verify()
        for entry in damaged:
            console.print(f"damaged, and removed: {entry.path}", soft_wrap=True)
        console.print(f"{_count(len(store.entries()), 'sound entry', 'sound entries')}")
        return int(bool(damaged))
    return 0


def _list(console: Console, entries: list) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("entry", "kind", title=escape(str(settings.cache_dir)), title_justify="left")
    table.add_column("size", justify="right")
    table.add_column("last used", justify="right")
    for entry in entries:
        table.add_row(entry.name, entry.kind, size(entry.nbytes), age(entry.age))
    console.print(table)
    console.print(f"{_count(len(entries), 'entry', 'entries')}, {size(sum(entry.nbytes for entry in entries))}")


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
