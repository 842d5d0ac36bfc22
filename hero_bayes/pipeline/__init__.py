"""From a config file to a decision in a folder: ``hero-bayes run`` without a terminal."""
