"""Texts as words: their normal form, the patterns of the tables, inflected forms."""
