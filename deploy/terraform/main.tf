# The proxy that holds a vendor's limit, and the Redis in which its replicas share it.
# terraform fmt -check; terraform init && terraform validate (needs the provider)
terraform {
  required_version = ">= 1.5"
  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "~> 4.0"
    }
  }
}

locals {
  port = 8460
  # The variable that holds the credentials of an upstream.
  credentials = { for upstream in nonsensitive(keys(var.vendor_authorization)) : upstream => "VENDOR_${upper(replace(upstream, "/[^A-Za-z0-9]/", "_"))}" }
  secrets = merge(
    {
      "redis-url"              = "rediss://:${urlencode(azurerm_redis_cache.main.primary_access_key)}@${azurerm_redis_cache.main.hostname}:${azurerm_redis_cache.main.ssl_port}"
      "internal-service-token" = var.internal_service_token
      "policy"                 = var.policy
    },
    { for upstream, variable in local.credentials : lower(replace(variable, "_", "-")) => var.vendor_authorization[upstream] },
  )
}

resource "azurerm_redis_cache" "main" {
  name                 = "${var.name}-redis"
  location             = var.location
  resource_group_name  = var.resource_group_name
  sku_name             = var.redis.sku
  family               = "C"
  capacity             = var.redis.capacity
  non_ssl_port_enabled = false
  minimum_tls_version  = "1.2"

  redis_configuration {
    # Not allkeys-lru: a counter that is evicted is a limit that starts again.
    maxmemory_policy = "noeviction"
  }

  tags = var.tags
}

resource "azurerm_container_app" "proxy" {
  name                         = "${var.name}-proxy"
  container_app_environment_id = var.container_app_environment_id
  resource_group_name          = var.resource_group_name
  revision_mode                = "Single"
  tags                         = var.tags

  registry {
    server   = var.registry.server
    identity = var.registry.identity
  }

  identity {
    type         = "UserAssigned"
    identity_ids = [var.registry.identity]
  }

  dynamic "secret" {
    for_each = nonsensitive(toset(keys(local.secrets)))
    content {
      name  = secret.value
      value = local.secrets[secret.value]
    }
  }

  ingress {
    external_enabled = false
    target_port      = local.port
    transport        = "http"

    traffic_weight {
      percentage      = 100
      latest_revision = true
    }
  }

  template {
    min_replicas = var.replicas.min
    max_replicas = var.replicas.max
    # Calls that were accepted get 30 s to end.
    termination_grace_period_seconds = 40

    http_scale_rule {
      name                = "calls"
      concurrent_requests = "100"
    }

    # Secrets as files: <mount>/<name of the secret>.
    volume {
      name         = "secrets"
      storage_type = "Secret"
    }

    container {
      name   = "proxy"
      image  = var.image
      cpu    = 0.5
      memory = "1Gi"
      args = concat(
        ["proxy", "--policy", "/run/secrets/policy", "--redis-file", "/run/secrets/redis-url"],
        flatten([for upstream, variable in local.credentials : ["--credential", "${upstream}:authorization=@/run/secrets/${lower(replace(variable, "_", "-"))}"]]),
      )

      env {
        name  = "SLUICE_HOST"
        value = "0.0.0.0"
      }

      env {
        name  = "PORT"
        value = tostring(local.port)
      }

      env {
        name        = "INTERNAL_SERVICE_TOKEN"
        secret_name = "internal-service-token"
      }

      volume_mounts {
        name = "secrets"
        path = "/run/secrets"
      }

      startup_probe {
        transport               = "HTTP"
        port                    = local.port
        path                    = "/health"
        interval_seconds        = 1
        failure_count_threshold = 30
      }

      liveness_probe {
        transport = "HTTP"
        port      = local.port
        path      = "/health"
      }

      readiness_probe {
        transport = "HTTP"
        port      = local.port
        path      = "/ready"
      }
    }
  }
}
