"""Training speed of this checkout against that of another: `python -m scripts.systems.commits OTHER key=value ...`.

Both train the same, each in a process of its own, and take turns of some steps, so that a machine that slows down
meets both. A turn of one and the next of the other make a ratio. Python and its packages are those of this process.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_STEPS, _TURNS, _FIRST = 8, 100, 3  # the first turns have data to prepare and kernels to choose
_ONE = """
import os, sys, time
mine, other, times, steps, first = (int(each) for each in sys.argv[1:6])
checkout, sys.argv = sys.argv[6], ["mt-train", *sys.argv[7:]]
sys.path.insert(0, checkout)
from torch.optim.optimizer import register_optimizer_step_post_hook
done, begun = 0, None
def turn(*_):
    global done, begun
    done += 1
    if done % steps:
        return
    if begun is not None:
        os.write(times, f"{time.perf_counter() - begun}\\n".encode())
    if begun is not None or not first:  # one of them waits first: there is one byte, the turn
        os.write(other, b"x")
    os.read(mine, 1)
    begun = time.perf_counter()
register_optimizer_step_post_hook(turn)
from scripts.train import main
main()
"""


def main(other: str, *options: str) -> None:
    """Train both until each had its turns, and print the median ratio of their speeds with its interval."""
    ways = [os.pipe(), os.pipe()]  # what wakes this checkout, and what wakes the other
    seconds: list[list[float]] = [[], []]
    with tempfile.TemporaryDirectory() as folder:
        processes, streams = [], []
        for number, checkout in enumerate([str(Path(__file__).resolve().parents[2]), str(Path(other).resolve())]):
            read, write = os.pipe()
            passed = ways[number][0], ways[1 - number][1], write
            numbers = map(str, [*passed, _STEPS, 1 - number])
            words = [sys.executable, "-c", _ONE, *numbers, checkout, *options, f"run_dir={folder}/{number}"]
            processes.append(subprocess.Popen(words, pass_fds=passed, stdout=subprocess.DEVNULL))  # noqa: S603
            os.close(write)
            streams.append(os.fdopen(read))
        try:
            for _ in range(_TURNS):
                for times, stream in zip(seconds, streams, strict=True):
                    times.append(float(stream.readline()))
        finally:
            for process in processes:
                process.kill()
    ratios = [theirs / ours for ours, theirs in zip(*(each[_FIRST:] for each in seconds), strict=True)]
    drawn = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(2000))
    print(f"{_STEPS} steps: {statistics.median(seconds[0]):.3f} s here, {statistics.median(seconds[1]):.3f} s there")
    print(f"speed here / there: {statistics.median(ratios):.3f} (95 % interval {drawn[50]:.3f} to {drawn[1949]:.3f})")


if __name__ == "__main__":
    main(*sys.argv[1:])
