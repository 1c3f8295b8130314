"""The browser panel of the development host."""
