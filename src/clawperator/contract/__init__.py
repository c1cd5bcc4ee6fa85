"""Documents that cross a boundary: errors, limits, selectors, actions, executions, results, schemas. No I/O."""
