// Pages work without this file. It adds what only a script can: see each function.
