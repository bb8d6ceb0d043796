//! Questions over the built-in packs, with the entry that has to be among the first three.
