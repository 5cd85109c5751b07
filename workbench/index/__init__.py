"""Vector namespaces: one protocol, the native DuckDB store, one adapter a file for each foreign layout."""
