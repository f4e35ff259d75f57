"""Pictures and reports of what was computed; nothing is computed here."""
