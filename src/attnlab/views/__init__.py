"""Views: each turns data and words into something to look at, and computes nothing."""
