"""Results drawn as matplotlib Figures; matplotlib is imported when the first of them is drawn."""
