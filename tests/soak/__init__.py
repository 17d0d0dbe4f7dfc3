"""Hours of ordinary work with replicas that die: nothing lost, doubled or stuck, and nothing grows."""
