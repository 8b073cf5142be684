# Who calls the vendor through the proxy, and who must not: the programs of examples/ingestion-proxy, where `callers` is
# set. They run beside the proxy, as its ingress is internal.

locals {
  # What scheduler and workers share. To roll the proxy back, leave NIVODA_PROXY_BASE_URL out and give them the
  # vendor's address and credentials instead.
  calling = {
    NIVODA_PROXY_BASE_URL = "https://${azurerm_container_app.proxy.ingress[0].fqdn}"
  }
  calling_secrets = {
    INTERNAL_SERVICE_TOKEN = "internal-service-token"
    REDIS_URL              = "redis-url"
  }
  # The customer API has no credentials and no token: it cannot call the vendor, and refuses to start if it could.
  callers = {
    for program in ["worker", "customer-api"] : program => {
      file     = "node_modules/ingestion-proxy/dist/${program}-main.js"
      env      = { for name, value in local.calling : name => value if program == "worker" }
      secrets  = merge({ DATABASE_URL = "database-url" }, { for name, secret in local.calling_secrets : name => secret if program == "worker" })
      replicas = program == "worker" ? var.callers.workers : var.callers.customer_api
    } if var.callers != null
  }
  caller_values = {
    "internal-service-token" = var.internal_service_token
    "redis-url"              = local.secrets["redis-url"]
    "database-url"           = var.database_url
  }
}

resource "azurerm_container_app" "caller" {
  for_each = local.callers

  name                         = "${var.name}-${each.key}"
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
    for_each = toset(values(each.value.secrets))
    content {
      name  = secret.value
      value = local.caller_values[secret.value]
    }
  }

  # Workers listen to nobody.
  dynamic "ingress" {
    for_each = each.key == "customer-api" ? [3000] : []
    content {
      external_enabled = true
      target_port      = ingress.value
      transport        = "http"

      traffic_weight {
        percentage      = 100
        latest_revision = true
      }
    }
  }

  template {
    min_replicas = each.value.replicas.min
    max_replicas = each.value.replicas.max
    # A worker finishes its page: the longest wait in the queue and the vendor's timeout together.
    termination_grace_period_seconds = each.key == "worker" ? 130 : 15

    container {
      name   = each.key
      image  = var.callers.image
      cpu    = 0.25
      memory = "0.5Gi"
      args   = [each.value.file]

      dynamic "env" {
        for_each = each.value.env
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = each.value.secrets
        content {
          name        = env.key
          secret_name = env.value
        }
      }

      dynamic "readiness_probe" {
        for_each = each.key == "customer-api" ? [3000] : []
        content {
          transport = "HTTP"
          port      = readiness_probe.value
          path      = "/ready"
        }
      }

      dynamic "liveness_probe" {
        for_each = each.key == "customer-api" ? [3000] : []
        content {
          transport = "HTTP"
          port      = liveness_probe.value
          path      = "/health"
        }
      }
    }
  }
}

# A run that is due while another one goes on would queue the same pages twice: one at a time.
resource "azurerm_container_app_job" "scheduler" {
  count = var.callers == null ? 0 : 1

  name                         = "${var.name}-scheduler"
  location                     = var.location
  container_app_environment_id = var.container_app_environment_id
  resource_group_name          = var.resource_group_name
  replica_timeout_in_seconds   = 1800
  replica_retry_limit          = 1
  tags                         = var.tags

  schedule_trigger_config {
    cron_expression          = var.callers.schedule
    parallelism              = 1
    replica_completion_count = 1
  }

  registry {
    server   = var.registry.server
    identity = var.registry.identity
  }

  identity {
    type         = "UserAssigned"
    identity_ids = [var.registry.identity]
  }

  dynamic "secret" {
    for_each = toset(values(local.calling_secrets))
    content {
      name  = secret.value
      value = local.caller_values[secret.value]
    }
  }

  template {
    container {
      name   = "scheduler"
      image  = var.callers.image
      cpu    = 0.25
      memory = "0.5Gi"
      args   = ["node_modules/ingestion-proxy/dist/scheduler-main.js"]

      dynamic "env" {
        for_each = local.calling
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = local.calling_secrets
        content {
          name        = env.key
          secret_name = env.value
        }
      }
    }
  }
}
