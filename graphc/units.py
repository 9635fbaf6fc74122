"""Numbers for reading: '16.8 MB', '41.9 M', '4.2 us', '3 h ago', '2 kernels'."""

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


def duration(seconds: float) -> str:
    """'3 ns', '4.2 us', '31.5 ms', '2.07 s'."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def count(number: int, one: str, many: str | None = None) -> str:
    """'1 kernel', '2 kernels', '3 entries'."""
    return f"{number} {one if number == 1 else many or one + 's'}"
