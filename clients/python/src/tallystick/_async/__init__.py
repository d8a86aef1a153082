"""The client, asynchronous or without: one source, of which tools/generate.py makes the other."""
