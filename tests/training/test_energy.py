"""Counters of energy that wrap, that cannot be read, and that are parts of others."""

from pathlib import Path

from mt.training.energy import EnergyCounter


def write(folder: Path, zone: str, name: str, microjoules: int) -> None:
    (folder / zone).mkdir(parents=True, exist_ok=True)
    (folder / zone / "name").write_text(f"{name}\n")
    (folder / zone / "energy_uj").write_text(f"{microjoules}\n")
    (folder / zone / "max_energy_range_uj").write_text("10000000\n")


def test_the_packages_are_added_up_across_a_wrap(tmp_path: Path) -> None:
    """The cores are a part of their package, and the platform has all packages."""
    zones = {"intel-rapl:0": "package-0", "intel-rapl:1": "package-1", "intel-rapl:0:0": "core", "intel-rapl:2": "psys"}
    for zone, before in zip(zones, (1_000_000, 9_000_000, 5_000_000, 2_000_000), strict=True):
        write(tmp_path, zone, zones[zone], before)
    counter = EnergyCounter(tmp_path)
    assert counter.joules() == 0
    for zone, after in zip(zones, (1_500_000, 2_000_000, 5_400_000, 9_000_000), strict=True):
        write(tmp_path, zone, zones[zone], after)
    assert counter.joules() == 3.5
    assert counter.joules() == 0
    (tmp_path / "intel-rapl:1/energy_uj").unlink()
    assert counter.joules() is None


def test_without_a_counter_nothing_is_known(tmp_path: Path) -> None:
    assert EnergyCounter(tmp_path / "none").joules() is None
    (tmp_path / "intel-rapl:0").mkdir()
    (tmp_path / "intel-rapl:0/name").write_text("package-0\n")
    assert EnergyCounter(tmp_path).joules() is None
