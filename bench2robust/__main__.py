"""``python -m bench2robust`` is the program ``bench2robust``, for launchers of several ranks."""

from bench2robust.cli import main

if __name__ == "__main__":
    main()
