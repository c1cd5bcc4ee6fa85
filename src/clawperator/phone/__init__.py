"""The phone in the box: a simulated Android phone that real adb can drive."""
