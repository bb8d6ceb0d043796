//! The `kernelwright` executable.

use kernelwright_harness::sandbox;

fn main() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|verb| verb == sandbox::VERB) {
        sandbox::enter(args);
    }
}
