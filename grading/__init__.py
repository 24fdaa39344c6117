"""Hand out assignments, and grade what comes back, each submission in a sandbox of its own.

Who knows what:

1. `posenc.check`, which students install, is an engine: it calls an answer and compares numbers.
   The numbers of the visible cases are on record there, and nothing that computes others.
2. `grading.questions` computes what is right and what each misconception gives, for any case. It
   is in no wheel. `grading.record` writes the visible cases into the package.
3. `grading.runner` runs a notebook inside the sandbox, is asked one input after another, and
   returns plain numbers. Nothing in that process knows what is right, and it writes no grade.
4. `grading.examine` is the other side: it draws hidden inputs from a seed, the same for all,
   asks, and compares. It runs no student's code and unpickles nothing.
5. `grading.grade` writes the grades, and notes for the instructor, which are advice.
"""
