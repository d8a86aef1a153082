"""The asynchronous client. tools/generate.py derives the synchronous one from this source."""
