"""The `flask` commands, for whoever is on call; handed what they need by the web root."""
