"""What apps of the simulated phone are written with: screens, views, layout."""
