"""Room for turning text into tensors."""
