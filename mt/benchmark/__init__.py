"""Measuring training and decoding against other systems, each in a process of its own, in turns on one machine."""
