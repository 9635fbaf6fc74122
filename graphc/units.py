"""Numbers for reading: '16.8 MB', '41.9 M', '3 h ago'."""

from __future__ import annotations


def amount(count: float, unit: str = "") -> str:
    """Three digits, a decimal prefix and the unit, if it has one."""
    prefixes = ["", "k", "M", "G", "T"]
    while abs(count) >= 999.5 and len(prefixes) > 1:
        count /= 1000
        del prefixes[0]
    return f"{count:.3g} {prefixes[0]}{unit}".rstrip()


def age(seconds: float) -> str:
    """'now', '5 min ago', '3 h ago', '12 days ago'."""
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name} ago"
    return "now"
