"""Matching data as frozen records, one reader a format."""
