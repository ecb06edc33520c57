#!/usr/bin/env bash
# The browser tests drive the system's Chromium. Install it where we may; otherwise say so and fail: never skip.
# Its headless shell is the same browser without windows, and takes half the time.
set -euo pipefail
command -v chromium-headless-shell >/dev/null && exit 0
there=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing chromium with apt"
  export DEBIAN_FRONTEND=noninteractive
  apt="timeout 300 apt-get -o Acquire::Retries=5 -o DPkg::Lock::Timeout=240"
  $apt update -qq || true
  $apt install -y -qq chromium-headless-shell >/dev/null && exit 0
  [ -n "$there" ] || { $apt install -y -qq chromium >/dev/null && exit 0; }
fi
[ -n "$there" ] && exit 0
echo "the browser tests need Chromium: install it (Debian: apt-get install chromium) and run again" >&2
exit 1
