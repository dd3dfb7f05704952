"""The published and the revised edition: their differences by name, and what each does to a total."""
