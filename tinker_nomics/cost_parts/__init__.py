"""What `cost_model.evaluate` is composed of where a part takes more than one formula, either edition."""
