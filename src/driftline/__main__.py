"""``python -m driftline``: the command line."""

from driftline.cli import main

if __name__ == "__main__":
    main()
