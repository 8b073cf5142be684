/**
 * Calls the vendor through the proxy, or directly when `NIVODA_PROXY_BASE_URL` is not set: that one variable turns the
 * proxy off. The caller's timeout exceeds the longest wait and the vendor's timeout together.
 */
export async function callVendor(query: string, env: NodeJS.ProcessEnv): Promise<unknown> {
  const base = env.NIVODA_PROXY_BASE_URL || env.NIVODA_ENDPOINT
  const response = await fetch(`${base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-internal-token': env.INTERNAL_SERVICE_TOKEN ?? '' },
    body: JSON.stringify({ query }),
    signal: AbortSignal.timeout(125_000),
  })
  if (!response.ok) throw new Error(`the vendor was not asked: ${response.status} ${await response.text()}`)
  return response.json()
}
