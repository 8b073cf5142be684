import type { Denial, ResponseEnd } from '../guard-options.ts'
import type { Header } from '../headers/header.ts'

/** The response that tells a denial. */
export function denialResponse({ status, headers, body }: Denial, method: string): Response {
  return new Response(method === 'HEAD' ? null : body, { status, headers: Object.fromEntries(headers) })
}

/** The response with more headers. Some responses, such as those of `fetch`, cannot be changed and are wrapped. */
export function withHeaders(response: Response, headers: readonly Header[]): Response {
  try {
    for (const [name, value] of headers) response.headers.set(name, value)
    return response
  } catch {
    const copy = new Response(response.body, response)
    for (const [name, value] of headers) copy.headers.set(name, value)
    return copy
  }
}

/** The response with a body that calls `finish` once it has been read to its end, or given up. */
export function withEnd(response: Response, finish: (end: ResponseEnd) => void): Response {
  const { status, body } = response
  if (body === null) {
    finish({ status, bytes: 0, completed: true })
    return response
  }
  let bytes = 0
  const reader = body.getReader()
  const counted = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (done) {
          finish({ status, bytes, completed: true })
          controller.close()
        } else {
          bytes += value.byteLength
          controller.enqueue(value)
        }
      } catch (error) {
        finish({ status, bytes, completed: false })
        controller.error(error)
      }
    },
    cancel(reason) {
      finish({ status, bytes, completed: false })
      return reader.cancel(reason)
    },
  })
  return new Response(counted, response)
}
