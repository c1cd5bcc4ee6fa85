"""The policy: rules, the decision on a call, and approved plans."""
