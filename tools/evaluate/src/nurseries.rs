//! The nurseries that workers are forked from: one for each way in which Triton can be imported.

use kernelwright_harness::KeptNursery;

use crate::workshop::TritonMode;

/// One nursery for each mode of Triton.
#[derive(Debug, Default)]
pub(crate) struct Nurseries {
    compiled: KeptNursery,
    interpreted: KeptNursery,
}

impl Nurseries {
    /// The one for a mode.
    pub(crate) fn of(&self, triton: TritonMode) -> &KeptNursery {
        match triton {
            TritonMode::Compiled => &self.compiled,
            TritonMode::Interpreted => &self.interpreted,
        }
    }

    /// Ends those that are not forking.
    pub(crate) fn clear(&self) {
        self.compiled.clear();
        self.interpreted.clear();
    }
}
