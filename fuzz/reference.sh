#!/usr/bin/env bash
# Prints the path of qemu-riscv64, the reference of the differential tests.
# Where it is not installed, Debian's static build is unpacked, without root,
# into the folder that is given (default: .venv/qemu).
set -euo pipefail

for name in qemu-riscv64 qemu-riscv64-static; do
    if command -v "$name"; then exit 0; fi
done

folder=${1:-.venv/qemu}
program=$folder/usr/bin/qemu-riscv64-static
if [ ! -x "$program" ]; then
    if ! command -v apt-get >/dev/null; then
        echo "qemu-riscv64 is not installed and there is no apt-get: install QEMU's user mode (qemu-user) and run again" >&2
        exit 1
    fi
    echo "fetching qemu-user-static ..." >&2
    mkdir -p "$folder"
    (cd "$folder" && apt-get download -q qemu-user-static >&2 && dpkg-deb -x qemu-user-static_*.deb . && rm qemu-user-static_*.deb)
fi
echo "$program"
