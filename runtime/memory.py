"""How much memory this process may still use: what the machine has free, and the limits of its control groups."""

from __future__ import annotations

import os


def total_bytes() -> int:
    """The memory of the machine, or the least limit of the control groups above this process."""
    limits = [limit for limit, _ in _cgroup_limits()]
    return min([_meminfo().get("MemTotal", 1 << 62), *limits])


def available_bytes() -> int:
    """What can still be allocated without swapping or being killed."""
    rooms = [limit - used for limit, used in _cgroup_limits()]
    return max(0, min([_meminfo().get("MemAvailable", 1 << 62), *rooms]))


def _meminfo() -> dict[str, int]:
    values = {}
    for line in _read("/proc/meminfo").splitlines()[:3]:  # MemTotal, MemFree, MemAvailable
        name, _, rest = line.partition(":")
        values[name] = int(rest.split()[0]) * 1024
    return values


def _cgroup_limits() -> list[tuple[int, int]]:
    """(limit, bytes used that cannot be dropped) of each control group above this process that has a limit."""
    found = []
    for folder, limit_file, used_file in _cgroup_folders():
        limit = _read(os.path.join(folder, limit_file)).strip()
        if limit.isdecimal() and int(limit) < 1 << 60:  # version 1 writes a huge number for "no limit"
            used = _read(os.path.join(folder, used_file)).strip()
            found.append((int(limit), max(0, int(used or 0) - _page_cache(folder))))
    return found


_folders: list[tuple[str, str, str]] | None = None


def _cgroup_folders() -> list[tuple[str, str, str]]:
    """The folders that hold a limit file, looked up once: a process rarely moves between control groups."""
    global _folders
    if _folders is None:
        _folders = []
        for line in _read("/proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                root, names = "/sys/fs/cgroup", ("memory.max", "memory.current")
            elif "memory" in controllers.split(","):
                root, names = "/sys/fs/cgroup/memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
            else:
                continue
            parts = [part for part in path.split("/") if part]
            for count in range(len(parts), -1, -1):  # in a container the path may not exist, its root does
                folder = os.path.join(root, *parts[:count])
                if os.path.exists(os.path.join(folder, names[0])):
                    _folders.append((folder, *names))
    return _folders


def _page_cache(folder: str) -> int:
    """File pages that the kernel drops when the group runs full; they count as used, and are not."""
    for line in _read(os.path.join(folder, "memory.stat")).splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:  # not Linux, or no such limit here
        return ""
