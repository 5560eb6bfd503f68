"""What must never break: which tests show which row, how often they tried, and the table `make test-long` ends with.

A test that shows rows 1 and 3 of docs/reliability.md is marked `@pytest.mark.reliability(1, 3)`. It counts as one
trial, or as many as it takes from the fixture `trials`. A row of which nothing ran says so: it has not held.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import pytest

Case = TypeVar("Case")


class Row(NamedTuple):
    """What is shown, and how many trials the long form owes."""

    what: str
    owed: int = 1


ROWS = {
    1: Row("a save that dies or fails at any of its calls"),
    2: Row("kill -9 at random moments, bitwise equal after", 200),
    3: Row("disk full or read-only at any write"),
    4: Row("damaged or truncated checkpoint", 1000),
    5: Row("SIGTERM, SIGINT, SIGUSR1"),
    6: Row("two runs in one run folder", 10),
    7: Row("resuming anywhere, as often as one likes"),
    8: Row("resuming with another model, vocabulary or data", 8),
    9: Row("loss or gradient that is not a number"),
    10: Row("memory: no batch beyond its budget, largest first", 10_000),
    11: Row("one gradient, however a batch is cut or shared"),
    12: Row("corpus sides of unequal length", 500),
    13: Row("odd corpus files", 30),
    14: Row("test sentences inside the training data", 100),
    15: Row("any text to translate", 10_000),
    16: Row("neighbours, padding, batch size: no influence"),
    17: Row("beam search equals exhaustive search", 500),
    18: Row("no look-ahead"),
    19: Row("hostile checkpoint, tokenizer, configuration"),
    20: Row("wrong configuration", 60),
    21: Row("scores equal sacreBLEU's command line", 20),
    22: Row("no network"),
    23: Row("learning itself: copy, reverse, the loss curve", 10),
    24: Row("a worker process that ends while it translates"),
    25: Row("no compiler, no room for kernels, damaged kernels"),
}


class Trials:
    """Counts what a test tries, for all of its rows or for one of them."""

    def __init__(self, rows: list[int]) -> None:
        self.rows = rows
        self.counts: Counter[int] = Counter()

    def __call__(self, cases: Iterable[Case], *, row: int | None = None) -> Iterator[Case]:
        """The cases, each counted when it is taken."""
        for case in cases:
            self.add(1, row=row)
            yield case

    def add(self, count: int, *, row: int | None = None) -> None:
        """Count trials that are no loop over cases."""
        assert row is None or row in self.rows
        for one in self.rows if row is None else [row]:
            self.counts[one] += count


class Table:
    """Trials and failures of every row in this session."""

    def __init__(self) -> None:
        self.trials: Counter[int] = Counter()
        self.failures: Counter[int] = Counter()

    def note(self, counts: Mapping[int, int], *, failed: bool) -> None:
        """Add what one test tried; a test stops at its first failure."""
        self.trials.update(counts)
        if failed:
            self.failures.update(counts.keys())

    def lines(self) -> list[str]:
        """The table as text."""
        form = "{:>3}  {:<52}  {:>16}  {:>8}"
        lines = [form.format("row", "what", "trials", "failures")]
        for number, row in ROWS.items():
            trials, failures = self.trials[number], self.failures[number]
            if not trials:
                lines.append(form.format(number, row.what, "not run", "-"))
                continue
            short = f"of {row.owed:,} owed: " if trials < row.owed else ""
            lines.append(form.format(number, row.what, f"{short}{trials:,}", f"{failures:,}"))
        return lines


TABLE = pytest.StashKey[Table]()
TRIALS = "trials"  # the property of a report


def rows_of(item: pytest.Item) -> list[int]:
    """The rows that a test is marked with."""
    return sorted({row for mark in item.iter_markers("reliability") for row in mark.args})


@pytest.fixture
def trials(request: pytest.FixtureRequest) -> Trials:
    """The counter of a test that tries more than once."""
    rows = rows_of(request.node)
    assert rows, "a test that counts trials names its rows"
    return Trials(rows)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TABLE] = Table()
    config.pluginmanager.register(Collector(config.stash[TABLE]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tells the report what a test tried; a report goes from the process that ran the test to the one that counts."""
    report = yield
    rows = rows_of(item)
    if report.when == "call" and not report.skipped:
        counter = getattr(item, "funcargs", {}).get("trials")
        counts = counter.counts if counter is not None else Counter(rows)
        report.user_properties.append((TRIALS, dict(counts or Counter(rows if report.failed else []))))
    elif report.failed:
        report.user_properties.append((TRIALS, dict(Counter(rows))))
    return report


class Collector:
    """Notes what the reports say, of this process or of several workers."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test tried, and one whose preparation failed."""
        for name, counts in report.user_properties:
            if name == TRIALS and isinstance(counts, dict):
                self.table.note(counts, failed=report.failed)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The table, where the long forms were asked for."""
    if "not long" not in config.option.markexpr and config.stash[TABLE].trials:
        terminalreporter.section("what must never break (docs/reliability.md)")
        for line in config.stash[TABLE].lines():
            terminalreporter.write_line(line)
