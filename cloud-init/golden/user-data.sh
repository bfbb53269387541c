#!/bin/sh
# Fetches, proves, installs and starts quake-agent. See cloud-init/README.md.
urls='s3://quake-example-releases/v0.1.0/quake-agent-{arch} https://releases.quake.example/v0.1.0/quake-agent-{arch}'
amd64='aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
arm64='bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'
region='us-east-1'
seconds=900
bin=/usr/local/bin/quake-agent
console=/dev/console
: kube_env.yaml <<'__EOF_KUBE_ENV'
Assets:
- 359c1f30d1aa90ba25041a702a6330da30bf99a0b117087a9b979bbd45029aae@https://assets.quake.example/kubernetes/v1.15.12/bin/linux/amd64/kubelet
- 4fb023ba5ccacb19c0fa289f8ee448c84e46424301907ee2dc24fad36efbfb02@https://assets.quake.example/kubernetes/v1.15.12/bin/linux/amd64/kubectl
- df987ba75a6e9c7af0e68b7e6f87876367008e555786958239e127882548cf28@https://assets.quake.example/network-plugins/cni-plugins-amd64-v0.7.5.tgz
ClusterName: demo.quake.example
ConfigBase: s3://quake-example-state/demo.quake.example
InstanceGroupName: workers
Tags:
- _automatic_upgrades
- _aws
channels:
- s3://quake-example-state/demo.quake.example/addons/bootstrap-channel.yaml
__EOF_KUBE_ENV

# Only the last line acts: a script that was cut short does nothing.
verdict() {
  { printf 'quake-agent delivery: %s\r\n' "$*" >"$console"; } 2>/dev/null
  echo "quake-agent delivery: $*" >&2
}

fail() { # CAUSE
  case $1 in
    digest-* | no-binary* | curl-*) status=78 ;;
    denied* | no-role*) status=77 ;;
    *) status=75 ;;
  esac
  verdict "failed code=delivery.$1 seconds=$(($(up) - begun)) exit=$status"
  exit $status
}

up() { # Not the clock, which jumps while a machine boots.
  read -r now _ </proc/uptime
  echo "${now%.*}"
}

# curl with options from stdin: what is on a command line, ps shows to everyone.
ask() { curl -sSf --connect-timeout 10 -K - "$@"; }

imds() { # PATH
  printf 'header = "X-aws-ec2-metadata-token: %s"\n' "$token" |
    ask --noproxy '*' -m 5 "http://169.254.169.254/latest/$1"
}

field() { printf %s "$2" | tr -d '\n' | sed -n 's/.*"'"$1"'" *: *"\([^"]*\)".*/\1/p'; }

# Options for s3://BUCKET/KEY, signed as the instance's role.
sign() { # URL
  why=metadata-unreachable
  token=$(echo 'header = "X-aws-ec2-metadata-token-ttl-seconds: 300"' |
    ask --noproxy '*' -m 5 -X PUT http://169.254.169.254/latest/api/token) || return
  [ "$region" ] || region=$(field region "$(imds dynamic/instance-identity/document)")
  why=no-role
  role=$(imds meta-data/iam/security-credentials/) &&
    role=$(imds "meta-data/iam/security-credentials/$role") || return
  case $region in cn-*) dns=amazonaws.com.cn ;; *) dns=amazonaws.com ;; esac
  options="url = \"${AWS_ENDPOINT_URL:-https://s3.$region.$dns}/${1#s3://}\"
aws-sigv4 = \"aws:amz:$region:s3\"
user = \"$(field AccessKeyId "$role"):$(field SecretAccessKey "$role")\"
header = \"x-amz-security-token: $(field Token "$role")\"
header = \"x-amz-content-sha256: $(sha256sum </dev/null | cut -c-64)\""
}

right() { [ -s "$1" ] && [ "$(sha256sum <"$1")" = "$want  -" ]; }

fetch() { # URL SECONDS: one try; what went wrong is in $why.
  options="location
url = \"$1\""
  case $1 in s3://*) sign "$1" || return ;; esac
  http=$(printf '%s\n' "$options" | ask -m "$2" -y 30 -Y 1000 -o "$part" -w '%{http_code}')
  case $?:$http in
    0:*) right "$part" && return
      why=digest-mismatch ;;
    2:*) why=curl-too-old ;;
    18:*) why=truncated ;;
    23:*) why=disk ;;
    28:*) why=timed-out ;;
    *:40[13]) why=denied ;;
    *:404) why=not-found ;;
    *:[45]*) why=http-$http ;;
    *) why=unreachable ;;
  esac
  return 1
}

pause() { # Full jitter, so that a fleet that starts at once does not ask at once.
  read -r dice </proc/sys/kernel/random/uuid
  wait=$((wait < left ? wait : left))
  sleep $((1 + 0x${dice%%-*} % wait))
  wait=$((wait < 32 ? wait * 2 : 32))
}

deliver() {
  umask 077
  begun=$(up) wait=2 blame='' how=''
  case $(uname -m) in
    x86_64) arch=amd64 want=$amd64 ;;
    aarch64) arch=arm64 want=$arm64 ;;
    *) want='' ;;
  esac
  [ "$want" ] || fail "no-binary machine=$(uname -m)"
  if right "$bin"; then
    how=present
  else
    command -v curl >/dev/null || fail curl-missing
    mkdir -p "${bin%/*}"
    part=$(mktemp "$bin.XXXXXX") || fail disk
    trap 'rm -f "$part"' EXIT
    trap 'fail interrupted' HUP INT TERM
  fi
  while [ ! "$how" ]; do
    for url in $urls; do
      url=$(echo "$url" | sed "s/{arch}/$arch/g")
      left=$((begun + seconds - $(up)))
      [ $left -gt 0 ] || fail "${blame:-timed-out}"
      from="from=${url%%\?*}"
      # A slow mirror must leave time for the next.
      fetch "$url" $((left / 2 + 1)) && how="fetched $from" && break
      echo "quake-agent delivery: not yet code=delivery.$why $from" >&2
      case $blame in digest-*) ;; *) blame="$why $from" ;; esac
    done
    [ "$how" ] || pause
  done
  if [ "$how" != present ]; then
    chmod 755 "$part"
    sync
    mv -f "$part" "$bin" || fail disk
  fi
  "$bin" install --start || fail "install-failed status=$?"
  verdict "ok $how seconds=$(($(up) - begun))"
}
deliver
