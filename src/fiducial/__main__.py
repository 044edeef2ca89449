"""``python -m fiducial``."""

from .cli.entry import main

if __name__ == "__main__":
    main()
