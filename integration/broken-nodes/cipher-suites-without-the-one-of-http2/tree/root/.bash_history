cd /etc/kubernetes/manifests
vi kube-apiserver.manifest
crictl ps | grep apiserver
crictl logs --tail 20 $(crictl ps -a --name kube-apiserver -q | head -1)
nmap --script ssl-enum-ciphers -p 443 127.0.0.1
