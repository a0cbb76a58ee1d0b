"""Two versions of a document: what is the same, moved, changed, split, merged, new or missing."""
