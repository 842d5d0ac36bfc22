"""The config file that ``hero-bayes init`` writes."""

__all__ = ["TEMPLATE"]

TEMPLATE = """\
# Config of: hero-bayes run FILE
# Paths are relative to this file. Lines that start with "# key =" show further keys.

[data]
# labels: one row a verdict, with the columns item, labeler, label (CSV or Parquet).
# items: one row an item, with item and, where known, gold, round, arm, prompt and covariates.
# labelers (may be left out): labeler, family, version.
# History needs some gold of both classes; gold of the current round is used too.
history = {labels = "history_labels.csv", items = "history_items.csv"}
current = {labels = "current_labels.csv", items = "current_items.csv"}

# Or one set of tables for both, told apart by their column round:
# labels = "labels.csv"
# items = "items.csv"
# history_rounds = ["2026-01", "2026-02"]
# current_rounds = ["2026-03"]

# Numeric columns of items that are known before any label, such as ["prompt_length"].
covariates = []
# columns = {item = "conversation_id"}   # your name for one of our columns
# positive = "yes"                       # the label that means 1 (what you count)
# negative = "no"                        # the one that means 0, if several others occur
# abstain = ["unsure"]                   # labels that are no verdict
# repeats = "error"                      # or "majority", "first", "keep"
# unlabeled = "error"                    # or "drop": leave out items without a label

[model]
# "auto": labelers may share errors. Others: "score", "hero", "pooled", "correlated", ...
name = "auto"
random_seed = 1
# mode = "nuts"          # or "laplace", "map"; "auto" and "score" are drawn exactly
# posterior = "cut"      # or "joint": current labels inform the labelers
# draws = 1000
# tune = 1000
# chains = 4
# priors = {gold_error = [2, 38]}

[adjust]
# Covariates as control variates: prevalence_adjusted. Does nothing without covariates.
enabled = true
# covariates = ["prompt_length"]   # default: all that [data] declares
# ridge = "cv"
# shrink = "optimal"

# Ship if P(metric direction threshold) >= probability. Several [[rule]] must all hold together.
[[rule]]
# "prevalence": new items of the same source; "item_rate": the items at hand;
# "prevalence_adjusted": new items, covariates used.
metric = "prevalence"
direction = "<="
threshold = 0.05
probability = 0.95
# group = "2026-03/B"      # where the current round has several (round, arm) groups
# rope = 0.005             # so close to the threshold counts as good enough
# loss_wrong_ship = 5.0
# loss_wrong_hold = 1.0
# To compare two arms: arm = "B", reference = "A", direction = "<=", threshold = 0.0

[sensitivity]
# How far the labelers may have changed since history before the decision changes.
enabled = true
# grid = [-1.0, -0.5, 0.5, 1.0]    # shifts of sensitivity and specificity, logit scale
# drift_sd = [0.1, 0.25, 0.5]
# draws = 400

[output]
# Holds decision.json, posterior.nc and tables.
folder = "out"
"""
