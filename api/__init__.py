"""HTTP only: routes, schemas, errors, auth. What is behind them is handed over as `Rooms`."""
