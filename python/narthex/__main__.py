"""`python -m narthex` is the command `narthex`."""

from narthex.cli import main

if __name__ == "__main__":
    main()
