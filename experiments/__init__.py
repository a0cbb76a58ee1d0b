"""The paper's tables and figures, run on real data in a clone: rows in, one JSON per run out, and pages of them."""
