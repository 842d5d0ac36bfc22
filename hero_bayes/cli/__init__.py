"""The command line ``hero-bayes``: one command a file, nothing heavy imported before it is used."""
