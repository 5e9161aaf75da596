#!/bin/sh
# The Rust tests under AddressSanitizer, and those of the rooms that draw under Miri, which interprets
# AVX2 too, whatever the processor has. Where Miri is not to be had, valgrind runs the tests of the vector
# code. It also lists what is executed while codes are drawn: see trace.sh. The core is compiled for ARM, macOS and
# Windows as well, without a warning.
# What cannot run here is said, and is no failure.
set -u
cd "$(dirname "$0")/.." || exit 1
export CARGO_TARGET_DIR=target/sanitize RUSTUP_AUTO_INSTALL=0
nightly=${NIGHTLY:-nightly}
verdicts=""
failed=0

verdict() {
    verdicts="$verdicts$1
"
    echo "== $1"
}

run() {
    name=$1
    shift
    echo "== $name: $*"
    start=$(date +%s)
    if "$@"; then
        verdict "$name: passed in $(($(date +%s) - start)) s"
    else
        verdict "$name: FAILED"
        failed=1
    fi
}

if rustc "+$nightly" --version >/dev/null 2>&1; then
    host=$(rustc "+$nightly" --version --verbose | sed -n 's/^host: //p')
    library=$(rustc "+$nightly" --print target-libdir)
    source=$(rustc "+$nightly" --print sysroot)/lib/rustlib/src/rust/library
else
    host=none
fi

if [ "$host" = none ]; then
    verdict "AddressSanitizer: not run, no toolchain \"$nightly\""
elif ! ls "$library"/*asan* >/dev/null 2>&1; then
    verdict "AddressSanitizer: not run, toolchain \"$nightly\" has no runtime of it for $host"
else
    run AddressSanitizer env RUSTFLAGS=-Zsanitizer=address \
        cargo "+$nightly" test --locked --quiet --lib --target "$host"
fi

if [ "$host" != none ] && [ -d "$source" ] && cargo "+$nightly" miri --version >/dev/null 2>&1; then
    case $host in
    x86_64-*) features="-Ctarget-feature=+avx2" ;;
    *) features="" ;;
    esac
    # Miri wants every thread to end, and those of a pool do not.
    run Miri env RUSTFLAGS="$features" MIRIFLAGS=-Zmiri-env-set=BISTOCHASTIC_THREADS=1 \
        cargo "+$nightly" miri test --locked --lib -- processor:: draw::alias:: draw::sampler:: draw::loops::
else
    verdict "Miri: not run, no toolchain \"$nightly\" with the components miri and rust-src"
    if [ "$(uname -sm)" = "Linux x86_64" ] && command -v valgrind >/dev/null; then
        run valgrind env CARGO_PROFILE_TEST_OPT_LEVEL=2 BISTOCHASTIC_CPU=avx2 BISTOCHASTIC_THREADS=1 \
            CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=1" \
            cargo test --locked --quiet --lib -- draw::keystream:: draw::loops::
    else
        verdict "valgrind: not run, it is not installed, or the machine is not Linux on x86-64"
    fi
fi

if [ "$(uname -sm)" = "Linux x86_64" ] && command -v valgrind >/dev/null; then
    # As released: what a compiler makes of a choice between two numbers is the question.
    cargo build --locked --quiet --release --example trace || failed=1
    run "side channels" sh scripts/trace.sh target/sanitize/release/examples/trace
else
    verdict "side channels: not looked at, valgrind is not installed, or the machine is not Linux on x86-64"
fi

# What a wheel is built from, for the platforms that this machine is not: no warning there, either.
for target in aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-pc-windows-msvc; do
    if ls "$(rustc --print target-libdir --target $target)"/libstd-* >/dev/null 2>&1; then
        run $target cargo clippy --locked --quiet --lib --features python --target $target -- -D warnings
    else
        verdict "$target: not compiled, the toolchain lacks it (\`rustup target add $target\` gets it)"
    fi
done

printf '\n%s' "$verdicts"
exit $failed
