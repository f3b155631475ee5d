"""Tables, transactions and migrations: the room that holds the truth."""
