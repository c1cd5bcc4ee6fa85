"""The policy: rules, the decision on a call, and its enforcement on every path."""
