variable "name" {
  description = "The start of the names of all resources."
  type        = string
  default     = "sluice"
}

variable "resource_group_name" {
  type = string
}

variable "location" {
  type = string
}

variable "container_app_environment_id" {
  description = "The environment in which scheduler, workers and API run too: the proxy is reachable only from there."
  type        = string
}

variable "image" {
  description = "The image by its digest: registry/sluice@sha256:..."
  type        = string
}

variable "registry" {
  description = "Where the image is pulled from, with an identity that may pull."
  type        = object({ server = string, identity = string })
}

variable "policy" {
  description = "The policy with the upstreams, as YAML."
  type        = string
}

variable "vendor_authorization" {
  description = "By upstream: the Authorization header that the vendor wants."
  type        = map(string)
  sensitive   = true
}

variable "internal_service_token" {
  description = "What callers send as x-internal-token; at least 8 characters."
  type        = string
  sensitive   = true
}

variable "replicas" {
  description = "How many proxies: the limit is held in Redis, whatever their number."
  type        = object({ min = number, max = number })
  default     = { min = 2, max = 4 }
}

variable "callers" {
  description = "Scheduler, workers and customer API of the document, from the image of examples/ingestion-proxy; null leaves them out."
  type = object({
    image        = string
    schedule     = optional(string, "0 2 * * *")
    workers      = optional(object({ min = number, max = number }), { min = 1, max = 4 })
    customer_api = optional(object({ min = number, max = number }), { min = 2, max = 10 })
  })
  default = null
}

variable "database_url" {
  description = "Where workers store what they fetched and the customer API reads it; needed with callers."
  type        = string
  default     = ""
  sensitive   = true
}

variable "redis" {
  description = "Standard has a replica; Basic loses everything when its node is patched."
  type        = object({ sku = string, capacity = number })
  default     = { sku = "Standard", capacity = 0 }
}

variable "tags" {
  type    = map(string)
  default = {}
}
