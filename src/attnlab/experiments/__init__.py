"""Running a program again with one thing changed, and comparing the two runs."""
