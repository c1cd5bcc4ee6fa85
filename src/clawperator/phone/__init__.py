"""The simulated phone: a simulated Android phone that real adb can drive."""
