output "proxy_url" {
  description = "The base URL of the vendor for scheduler and workers, such as NIVODA_PROXY_BASE_URL. The customer API needs none."
  value       = "https://${azurerm_container_app.proxy.ingress[0].fqdn}"
}

output "redis_hostname" {
  value = azurerm_redis_cache.main.hostname
}

output "redis_url" {
  description = "For services that hold limits with the library; sluice doctor --redis-file looks at it."
  value       = local.secrets["redis-url"]
  sensitive   = true
}

output "customer_api_url" {
  value = var.callers == null ? null : "https://${azurerm_container_app.caller["customer-api"].ingress[0].fqdn}"
}
