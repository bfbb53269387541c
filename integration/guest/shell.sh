#!/bin/sh
# Runs the scripts that come over the port, one a line: a number and the script in base64. What goes back has the same
# number, the status, and what was written to each output.
port=/dev/virtio-ports/quake.shell
folder=/run/quake-shell
mkdir -p "$folder"
# One descriptor for both ways: the port can be opened once.
exec 3<>"$port"
while IFS=' ' read -r number script <&3; do
    printf %s "$script" | base64 -d >"$folder/script"
    sh "$folder/script" >"$folder/output" 2>"$folder/errors" </dev/null 3>&-
    status=$?
    printf '%s %s o%s e%s\n' "$number" "$status" "$(base64 -w 0 <"$folder/output")" "$(base64 -w 0 <"$folder/errors")" >&3
done
