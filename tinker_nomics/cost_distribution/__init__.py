"""The distribution of a run's cost under uncertain parameters, on one machine or many."""
