"""What runs in a system's process, also in the other systems' environment: torch and numpy, nothing else of mt."""
