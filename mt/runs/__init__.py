"""Run folders: what is in one, what survives a restart, and how it is written so that nothing is ever half written."""
