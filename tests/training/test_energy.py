"""Counters of energy that wrap, that cannot be read, and that are parts of others."""

from pathlib import Path

from mt.training.energy import EnergyCounter


def write(folder: Path, name: str, microjoules: int) -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "energy_uj").write_text(f"{microjoules}\n")
    (folder / name / "max_energy_range_uj").write_text("10000000\n")


def test_the_packages_are_added_up_across_a_wrap(tmp_path: Path) -> None:
    write(tmp_path, "intel-rapl:0", 1_000_000)
    write(tmp_path, "intel-rapl:1", 9_000_000)
    write(tmp_path, "intel-rapl:0:0", 5_000_000)  # the cores of package 0, which count there already
    counter = EnergyCounter(tmp_path)
    assert counter.joules() == 0
    write(tmp_path, "intel-rapl:0", 1_500_000)
    write(tmp_path, "intel-rapl:1", 2_000_000)
    write(tmp_path, "intel-rapl:0:0", 5_400_000)
    assert counter.joules() == 3.5
    assert counter.joules() == 0
    (tmp_path / "intel-rapl:1/energy_uj").unlink()
    assert counter.joules() is None


def test_without_a_counter_nothing_is_known(tmp_path: Path) -> None:
    assert EnergyCounter(tmp_path).joules() is None
    (tmp_path / "intel-rapl:0").mkdir()
    assert EnergyCounter(tmp_path).joules() is None
