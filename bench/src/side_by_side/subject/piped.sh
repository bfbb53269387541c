#!/usr/bin/env bash
# The careful script: four files at once, each hashed and unpacked while it arrives, moved when it is right.
# usage: piped.sh LIST AUTHORITY, in the target folder; LIST has a line "kind sha256 url name" for each file.
set -euo pipefail
list=$1
export authority=$2
rm -rf stage.* # what a killed run left
mkdir -p bin opt

one() {
  set -uo pipefail
  local kind=$1 sha=$2 url=$3 name=$4 stage hash sum
  for _ in 1 2 3 4 5 6 7; do
    stage=$(mktemp -d stage.XXXXXX)
    mkfifo "$stage/pipe"
    sha256sum <"$stage/pipe" >"$stage/sum" &
    hash=$!
    mkdir "$stage/out"
    case $kind in
      plain) curl --fail --silent --show-error --cacert "$authority" "$url" | tee "$stage/pipe" >"$stage/out/$name" ;;
      archive) curl --fail --silent --show-error --cacert "$authority" "$url" | tee "$stage/pipe" | tar xz -C "$stage/out" ;;
    esac
    wait "$hash"
    read -r sum _ <"$stage/sum"
    if [ "$sum" = "$sha" ]; then
      case $kind in
        plain) chmod 755 "$stage/out/$name" && mv "$stage/out/$name" "bin/$name" ;;
        archive) rm -rf "opt/$name" && mv "$stage/out" "opt/$name" ;;
      esac
      rm -rf "$stage"
      return 0
    fi
    rm -rf "$stage"
  done
  echo "$url never had the right bytes" >&2
  return 1
}
export -f one
xargs -P 4 -L 1 bash -c 'one "$@"' _ <"$list"
