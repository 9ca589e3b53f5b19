//! Threaded handlers end in a call of the next one. Without optimisation that
//! call is not a jump and the stack would overflow, so an unoptimised build
//! runs the handlers one at a time instead (see `src/processor.rs`).

fn main() {
    println!("cargo::rustc-check-cfg=cfg(narthex_trampoline)");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("OPT_LEVEL").as_deref() == Ok("0") {
        println!("cargo::rustc-cfg=narthex_trampoline");
    }
}
