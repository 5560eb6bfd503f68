"""What runs inside a system's process, a peer's environment included: torch and numpy, and nothing else of mt."""
