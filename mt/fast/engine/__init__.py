"""The trained model prepared for translating: weights packed for the processor, a cache that nothing has to move."""
