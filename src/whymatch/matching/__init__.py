"""From vectors of spans to costs, plans and what they say about two texts."""
