"""Documents that cross a boundary: limits, selectors, actions, executions, results, the wire format. No I/O."""
