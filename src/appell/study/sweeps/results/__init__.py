"""What the results of a sweep say: statistics, sensitivities, charts."""
