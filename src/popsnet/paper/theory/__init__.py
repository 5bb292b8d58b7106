"""Theory beside the measurements: exact means, fluid limits, growth, and the separation."""
