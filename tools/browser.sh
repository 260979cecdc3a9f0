#!/bin/sh
# Installs what the tests of the report need: Chromium, by apt if this is root on Debian, and packages from npm. Where that
# does not work it goes on, and the tests say what they skip.
cd "$(dirname "$0")/.." || exit 0

has() {
    command -v "$1" > /dev/null 2>&1
}

has chromium || has chromium-browser || has chromium-headless-shell || has google-chrome || {
    if has apt-get && has timeout && [ "$(id -u)" = 0 ]; then
        echo "Installing Chromium, to test the report"
        export DEBIAN_FRONTEND=noninteractive
        timeout 60 apt-get -qq update > /dev/null 2>&1
        timeout 300 apt-get -qq -y --no-install-recommends install chromium > /dev/null 2>&1 ||
            echo "Chromium cannot be installed"
    fi
}
if has npm && has timeout && [ ! -d report-web/node_modules ]; then
    (cd report-web && timeout 120 npm ci --ignore-scripts > /dev/null 2>&1) || echo "npm packages cannot be installed"
fi
exit 0
