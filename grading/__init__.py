"""Hand out assignments, and grade what comes back, each submission in a sandbox of its own.

The instructor's room: it runs in `.venv-grading`, which has Otter; nothing else of the book does.
"""
