"""`python -m bots` is `threadwright`."""

from bots.cli import main

if __name__ == "__main__":
    main()
