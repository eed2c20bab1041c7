#!/usr/bin/env bash
# Opens every export with a reader that was not written here, and compares what it shows with the profile's own numbers.
#
#   tests/formats/check.sh            all of it; the second run takes under a minute
#
# Tools are installed by name where they are missing (apt-get, npm, go). A part whose tools cannot be had is skipped
# with a message; QUIPU_STRICT=1 makes that a failure.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tests/formats
work=${QUIPU_FORMATS_WORK:-target/formats-check}
mkdir -p "$work"
work=$(cd "$work" && pwd)
samples=$work/samples

skipped=0
skip() {
    echo "formats: SKIPPED: $*" >&2
    skipped=1
}

# command, package: installs a Debian package unless the command is there.
debian() {
    command -v "$1" >/dev/null && return
    { apt-get install -y --no-install-recommends "$2" || { apt-get update && apt-get install -y --no-install-recommends "$2"; }; } \
        >"$work/apt-$2.log" 2>&1 && command -v "$1" >/dev/null
}

# Packages by name and major version, kept between runs.
node_packages=(speedscope@1 playwright-core@1 ajv@8 typescript@5 @firefox-devtools/profiler-cli@0.10)
node_modules() {
    command -v npm >/dev/null || debian npm npm || return
    [ "$(cat "$work/node.installed" 2>/dev/null)" = "${node_packages[*]}" ] && return
    npm install --prefix "$work" --no-audit --no-fund --no-save "${node_packages[@]}" >"$work/npm.log" 2>&1 &&
        echo "${node_packages[*]}" >"$work/node.installed"
}

go_pprof() {
    [ -x "$work/bin/pprof" ] && return
    command -v go >/dev/null || debian go golang-go || return
    GOBIN=$work/bin go install github.com/google/pprof@latest >"$work/go.log" 2>&1
}

cargo run --locked --quiet --example export_samples -- "$samples"

if ! node_modules; then
    skip "npm cannot install ${node_packages[*]} (see $work/npm.log); nothing can be compared without them"
    exit "${QUIPU_STRICT:-0}"
fi
# Scripts find their packages in the work directory, whatever directory they are in themselves.
run() {
    local script=$1
    shift
    QUIPU_FORMATS_WORK=$work node "$here/$script" "$samples" "$@"
}

run schemas.mjs
"$work/node_modules/.bin/tsc" --noEmit --allowJs --checkJs --target es2022 --lib es2022,dom,dom.iterable \
    crates/formats/page/{format,data,graph,search,flame,table,app}.js
echo "formats: the page's scripts type-check"

if go_pprof; then
    run pprof.mjs "$work/bin/pprof"
else
    skip "go cannot install github.com/google/pprof (see $work/go.log)"
fi

if debian callgrind_annotate valgrind; then
    run callgrind.mjs
else
    skip "apt-get cannot install valgrind (see $work/apt-valgrind.log)"
fi

run firefox.mjs

if debian chromium chromium; then
    run speedscope.mjs
    run page.mjs "$work/screenshots"
else
    skip "apt-get cannot install chromium (see $work/apt-chromium.log)"
fi

[ "$skipped" = 0 ] || exit "${QUIPU_STRICT:-0}"
