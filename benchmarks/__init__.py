"""Measured comparisons: what we claim about speed, size and accuracy, side by side with what others do."""
