//! Reads YAML strictly, with line and column in every error.
