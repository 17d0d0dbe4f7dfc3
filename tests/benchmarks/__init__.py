"""Measurements beside a floor, in one run: `make bench`. Not tests: nothing here passes or fails."""
