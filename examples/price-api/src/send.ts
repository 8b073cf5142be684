import type { Request, Response } from 'express'
import { type CacheResult, cacheHeaders } from 'sluice/cache'
import type { Candle } from './keys.ts'

/** Answers with the value, `stale_flag`, and headers for the CDN; 404 for nothing, 304 for what the client has. */
export function send(
  request: Request,
  response: Response,
  answer: CacheResult<object | null>,
  more: object = {},
): void {
  if (answer.value === null) {
    const error = { code: 'NOT_FOUND', message: 'there is nothing about it' }
    response.status(404).json({ error, stale_flag: answer.stale })
    return
  }
  const ifNoneMatch = request.get('if-none-match')
  const { headers, notModified } = cacheHeaders(answer, { ifNoneMatch, maxAge: '1s', staleWhileRevalidate: '30s' })
  response.set(headers)
  if (notModified) response.status(304).end()
  else response.json({ ...answer.value, ...more, stale_flag: answer.stale })
}

/** Closed candles never change, so a CDN may keep them for ever; where one is open, for a second. */
export function sendCandles(
  response: Response,
  answers: readonly CacheResult<Candle | null>[],
  { isPinnable }: { readonly isPinnable: boolean },
): void {
  const isStale = answers.some(({ stale }) => stale)
  const isClosed = answers.every(({ value }) => value?.closed)
  const age = isPinnable && isClosed && !isStale ? 'max-age=31536000, immutable' : 'max-age=1'
  response.set('cache-control', isStale ? 'no-store' : `public, ${age}`)
  const candles = answers.flatMap(({ value }) => (value ? [value] : []))
  response.json({ candles, stale_flag: isStale })
}
