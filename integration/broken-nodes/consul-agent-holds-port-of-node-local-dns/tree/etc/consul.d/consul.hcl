datacenter = "us-test-1"
data_dir = "/opt/consul"
client_addr = "0.0.0.0"
bind_addr = "10.0.0.10"
retry_join = ["provider=aws tag_key=consul tag_value=server"]
ports {
  dns = 53
}
