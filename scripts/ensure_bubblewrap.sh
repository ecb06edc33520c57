#!/usr/bin/env bash
# Code that models write runs in a sandbox of bubblewrap. Install it where we may, so that its tests run instead of being skipped.
set -euo pipefail
command -v bwrap >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing bubblewrap with apt"
  export DEBIAN_FRONTEND=noninteractive
  apt="timeout 300 apt-get -o Acquire::Retries=5 -o DPkg::Lock::Timeout=240"
  $apt update -qq || true
  $apt install -y -qq bubblewrap >/dev/null && exit 0
fi
echo "without bubblewrap the tests of the sandbox are skipped (Debian: apt-get install bubblewrap)" >&2
