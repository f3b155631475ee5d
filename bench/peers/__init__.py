"""What people would run otherwise, written as a good engineer would; and how it gets onto the machine."""
