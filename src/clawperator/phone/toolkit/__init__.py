"""The toolkit for apps of the simulated phone: screens, views, layout."""
