"""Likelihood formulas, each written once and evaluated by numpy or by PyTensor."""
