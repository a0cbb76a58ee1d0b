"""Is every claim of an answer supported by its sources, contradicted by them, or without a source?"""
