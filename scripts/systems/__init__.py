"""The systems that the benchmarks compare with, each a program in an environment of its own."""
