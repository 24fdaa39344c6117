"""`python -m posenc`: identify, compare and models, from a terminal."""

from posenc.verify.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
