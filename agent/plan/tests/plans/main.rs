//! Plans of whole nodes: against goldens, and against the laws every plan keeps.

mod goldens;
mod laws;
mod nodes;
mod storage;
