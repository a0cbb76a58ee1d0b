"""Translations: which sentences of one text are those of another, in groups and in order."""
