type Reached = { readonly url: string }

/** Makes decisions on a key. */
export async function decide({ url }: Reached, key: string, times: number, rule = 'per-user'): Promise<void> {
  const body = JSON.stringify({ checks: Array.from({ length: times }, () => ({ key, rule })) })
  const response = await fetch(`${url}/v1/check`, { method: 'POST', body })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
}

/** Makes decisions on a key ten times a second, until the returned function is called. */
export function keepDeciding(daemon: Reached, key: string, rule?: string): () => void {
  const timer = setInterval(() => void decide(daemon, key, 2, rule).catch(() => {}), 100)
  return () => clearInterval(timer)
}
