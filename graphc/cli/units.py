"""Numbers for reading: '16.8 MB', '41.9 M', '3 h ago'."""

from __future__ import annotations


def amount(count: float) -> str:
    """A count with three digits and a decimal prefix."""
    for power, prefix in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if count >= 10**power:
            value = count / 10**power
            return f"{value:.3g} {prefix}" if value < 100 else f"{value:.0f} {prefix}"
    return f"{count:.0f}"


def size(count: float) -> str:
    """Bytes with a decimal prefix, as memory bandwidths are given."""
    text = amount(count)
    return text + ("B" if text[-1].isalpha() else " B")


def age(seconds: float) -> str:
    """'now', '5 min ago', '3 h ago', '12 days ago'."""
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name} ago"
    return "now"
