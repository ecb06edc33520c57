#!/usr/bin/env bash
# The browser tests drive the system's Chromium. Install it where we may; otherwise say so and fail: never skip.
set -euo pipefail
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing chromium with apt"
  export DEBIAN_FRONTEND=noninteractive
  again="-o Acquire::Retries=5"
  apt-get $again update -qq
  for name in chromium-headless-shell chromium; do
    apt-get $again install -y -qq "$name" >/dev/null && command -v "$name" >/dev/null && exit 0
  done
fi
echo "the browser tests need Chromium: install it (Debian: apt-get install chromium) and run again" >&2
exit 1
