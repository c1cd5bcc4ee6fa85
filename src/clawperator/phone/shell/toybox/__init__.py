"""Generic Unix commands of the shell, as toybox has them."""
