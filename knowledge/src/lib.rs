//! Knowledge packs: format, loader, checker and the packs that are built in.
