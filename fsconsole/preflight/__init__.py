"""What can be found out before anything is touched."""
