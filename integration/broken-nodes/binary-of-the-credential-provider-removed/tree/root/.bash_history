cd /usr/local/bin
ls -la
rm -f ecr-* nerdctl
systemctl restart kubelet
journalctl -u kubelet -n 50
