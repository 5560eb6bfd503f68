"""The energy that processors use, by their own counters (RAPL, under Linux's powercap); GPUs are not among them.

Virtual machines have no such counters, and elsewhere only root may read them unless the system allows more.
"""

from pathlib import Path


class EnergyCounter:
    """Counts the energy of all processor packages from one call to the next, whichever processes use them."""

    def __init__(self, folder: Path = Path("/sys/class/powercap")) -> None:
        packages = [path.parent for path in sorted(folder.glob("*/name")) if _read(path).startswith("package-")]
        self._last = {path: value for path in packages if (value := _microjoules(path / "energy_uj")) is not None}

    def joules(self) -> float | None:
        """The energy in joules since the last call, or the beginning; None where no counter can be read."""
        used = 0
        for path, last in list(self._last.items()):
            now = _microjoules(path / "energy_uj")
            if now is None:
                return None
            wraps_at = _microjoules(path / "max_energy_range_uj") or 0
            used += now - last + (wraps_at if now < last else 0)
            self._last[path] = now
        return used / 1e6 if self._last else None


def _microjoules(path: Path) -> int | None:
    text = _read(path).strip()
    return int(text) if text.isdecimal() else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
