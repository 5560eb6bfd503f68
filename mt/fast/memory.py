"""Work on a CPU without asking the system for every tensor's memory: settings of glibc's malloc."""

import ctypes
import os
import platform
from pathlib import Path

# mallopt(3)
_MMAP_MAX, _MMAP_THRESHOLD = -4, -3
_KEEP_FREED_MEMORY = ((-8, 1), (-1, -1))  # M_ARENA_MAX: threads share the one heap; M_TRIM_THRESHOLD: never give back
_LARGE_BYTES = 16 * 2**20  # of a KV cache: kept, it would leave holes that the next one does not fit into
_HEAP_BYTES = 16 * 2**30  # at most; a big model in training fits
_HUGE_PAGE_BYTES = 2**21
_MADV_HUGEPAGE = 14


def keep_freed_memory(*, large: bool = True) -> bool:
    """Let the C library keep the memory of freed tensors for the next ones; returns whether it does.

    Without `large` that of large tensors is given back, and no huge pages are asked for, which hold more than is used.

    Otherwise glibc requests each block of some megabytes, of which a training step takes hundreds, from the system and
    returns it at once, and the system clears every page again. It holds for the whole process; other C libraries are
    left as they are.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    limit = (_MMAP_MAX, 0) if large else (_MMAP_THRESHOLD, _LARGE_BYTES)
    kept = all(library.mallopt(option, value) for option, value in (*_KEEP_FREED_MEMORY, limit))
    if kept and large:
        _ask_for_huge_pages(library)
    return kept


def give_back_freed_memory() -> None:
    """Return freed memory to the system after all, such as that of weights that have been prepacked."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


def _ask_for_huge_pages(library: ctypes.CDLL) -> None:
    """Grow the heap once, in addresses and not yet in memory, and let the system back it with pages of 2 MiB.

    With pages of 4 KiB the processor looks up so many addresses that operations which only pass over memory take up
    to twice as long, most of all on a virtual machine. The heap stays as it is if it cannot grow that far, or if the
    system counts addresses as memory (vm.overcommit_memory=2).
    """
    counted = Path("/proc/sys/vm/overcommit_memory")
    if counted.exists() and counted.read_text(encoding="ascii").strip() == "2":
        return
    size = min(_HEAP_BYTES, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    start = library.malloc(size)
    if start:
        first = -(-start // _HUGE_PAGE_BYTES) * _HUGE_PAGE_BYTES
        length = (start + size - first) // _HUGE_PAGE_BYTES * _HUGE_PAGE_BYTES
        library.madvise(first, length, _MADV_HUGEPAGE)
        library.free(start)
