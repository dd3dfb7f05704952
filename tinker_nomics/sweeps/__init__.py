"""Many configurations at once: grids and tables of parameters, choices included, as labelled arrays."""
