"""Commands without their jobs: what a job would have been given."""

from mt.commands.entry_point import run

FILES = [
    "data=files",
    "data.source_language=en",
    "data.target_language=de",
    "data.train=[{source: a.en, target: a.de}]",
    "data.validation={source: a.en, target: a.de}",
]


class Captured(list):  # type: ignore[type-arg]
    """A job that only remembers what it was given."""

    def __call__(self, config: object) -> None:
        self.append(config)


def composed(name: str, *arguments: str) -> object:
    """The configuration that the job receives."""
    job = Captured()
    assert run(name, job, arguments) == 0
    assert len(job) == 1
    return job[0]
