"""Geometries of models and the few numbers that the formulas need of them; host only."""
