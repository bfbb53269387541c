activation {
  thin_pool_autoextend_threshold=80
  thin_pool_autoextend_percent=20
}
