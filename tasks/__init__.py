"""Durable tasks: submit, claim, finish, relay, dead letters. This room knows no photo."""
