//! Reading the files that profilers write.

use std::path::Path;

use kernelwright_protocol::ProfilerKind;

use crate::ProfileError;
use crate::capture::Capture;

/// What a profiler's file says.
pub(crate) fn read(profiler: ProfilerKind, path: &Path) -> Result<Capture, ProfileError> {
    Err(ProfileError::Unavailable {
        profiler,
        reason: format!("its files are not read by this build; this one is {}", path.display()),
        fix: "open the file with the profiler's own viewer".to_owned(),
    })
}
