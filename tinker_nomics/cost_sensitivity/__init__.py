"""What moves a run's cost: slopes, swings, flips and switches around one configuration."""
