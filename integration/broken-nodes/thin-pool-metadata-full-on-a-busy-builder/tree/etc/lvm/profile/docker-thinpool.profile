activation {
  thin_pool_autoextend_threshold=100
  thin_pool_autoextend_percent=20
}
