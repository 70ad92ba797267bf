"""The Textual console; the only package that may import textual."""
