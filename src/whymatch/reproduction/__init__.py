"""The paper's tables and figures, run on real data: rows in, one JSON a run out, and the page that shows them."""
