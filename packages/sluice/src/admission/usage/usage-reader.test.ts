import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { usageIn, weighed, withTotal } from './usage.ts'
import { guessingReader, usageReader } from './usage-reader.ts'

function read(type: string, body: string | Buffer, encoding?: string, size = 7) {
  const decode = (chunks: readonly Uint8Array[]) => gunzipSync(Buffer.concat(chunks)).toString()
  const readers = [usageReader(type, encoding === undefined ? undefined : decode)]
  // By the first byte it is found to be the same, where it is not compressed.
  if (encoding === undefined) readers.push(guessingReader())
  const bytes = Buffer.from(body)
  for (const reader of readers)
    for (let at = 0; at < bytes.length; at += size) reader.read(bytes.subarray(at, at + size))
  const [usage, guessed] = readers.map((reader) => withTotal(reader.usage()))
  if (readers.length > 1) expect(guessed).toEqual(usage)
  return usage
}

/** A frame of a stream of Bedrock. */
function frame(value: unknown): Buffer {
  const payload = Buffer.from(JSON.stringify(value))
  const headers = Buffer.from(':event-type')
  const head = Buffer.alloc(12)
  head.writeUInt32BE(16 + headers.length + payload.length, 0)
  head.writeUInt32BE(headers.length, 4)
  return Buffer.concat([head, headers, payload, Buffer.alloc(4)])
}

const events = (...data: unknown[]): string =>
  data.map((each) => `event: x\r\ndata: ${JSON.stringify(each)}\r\n\r\n`).join('')

describe('usage is read from', () => {
  test('a chat completion of OpenAI', () => {
    const body = JSON.stringify({ usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 } })
    const usage = { tokens: 21, 'input-tokens': 9, 'output-tokens': 12 }
    expect(read('application/json', body)).toEqual(usage)
    expect(read('application/json', gzipSync(body), 'gzip')).toEqual(usage)
  })

  test('a message of Anthropic', () => {
    expect(read('application/json', '{"usage":{"input_tokens":3,"output_tokens":4}}')).toEqual({
      tokens: 7,
      'input-tokens': 3,
      'output-tokens': 4,
    })
  })

  test('a stream of OpenAI, whose last event has it', () => {
    const stream = events(
      { choices: [], usage: null },
      { usage: { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 } },
    )
    expect(read('text/event-stream; charset=utf-8', `${stream}data: [DONE]\n\n`)).toMatchObject({ tokens: 11 })
  })

  test('a stream of Anthropic, whose numbers are running totals', () => {
    const stream = events(
      { type: 'message_start', message: { usage: { input_tokens: 25, output_tokens: 1 } } },
      { type: 'message_delta', usage: { output_tokens: 15 } },
    )
    expect(read('text/event-stream', stream)).toEqual({ tokens: 40, 'input-tokens': 25, 'output-tokens': 15 })
  })

  test('Gemini, at once and streamed, with what it thought', () => {
    const usageMetadata = {
      ...{ promptTokenCount: 20, candidatesTokenCount: 5, thoughtsTokenCount: 7, totalTokenCount: 32 },
      cachedContentTokenCount: 16,
    }
    const usage = { tokens: 32, 'input-tokens': 20, 'output-tokens': 12, 'cached-tokens': 16 }
    expect(read('application/json', JSON.stringify({ candidates: [], usageMetadata }))).toEqual(usage)
    expect(read('application/json', JSON.stringify([{ candidates: [] }, { usageMetadata }]))).toEqual(usage)
    const first = { usageMetadata: { promptTokenCount: 20, totalTokenCount: 20 } }
    expect(read('text/event-stream', events(first, { usageMetadata }))).toEqual(usage)
  })

  test('Bedrock, at once and in frames', () => {
    const usage = {
      inputTokens: 4,
      outputTokens: 6,
      totalTokens: 30,
      cacheReadInputTokens: 15,
      cacheWriteInputTokens: 5,
    }
    const found = { tokens: 15, 'input-tokens': 9, 'output-tokens': 6, 'cached-tokens': 15 }
    expect(read('application/json', JSON.stringify({ output: {}, usage }))).toEqual(found)
    const frames = Buffer.concat([
      frame({ contentBlockDelta: { delta: { text: 'x' } } }),
      frame({ usage, metrics: {} }),
    ])
    expect(read('application/vnd.amazon.eventstream', frames)).toEqual(found)
    const last = {
      type: 'message_stop',
      'amazon-bedrock-invocationMetrics': { inputTokenCount: 3, outputTokenCount: 2 },
    }
    const bytes = Buffer.from(JSON.stringify(last)).toString('base64')
    expect(read('application/vnd.amazon.eventstream', frame({ bytes, p: 'abc' }))).toEqual({
      ...{ tokens: 5, 'input-tokens': 3, 'output-tokens': 2 },
    })
    expect(read('application/vnd.amazon.eventstream', Buffer.alloc(100))).toBeUndefined()
  })

  test('what was cached, which OpenAI has in its input and Anthropic beside it', () => {
    const openai = {
      usage: {
        prompt_tokens: 100,
        completion_tokens: 10,
        total_tokens: 110,
        prompt_tokens_details: { cached_tokens: 80 },
      },
    }
    expect(read('application/json', JSON.stringify(openai))).toEqual({
      ...{ tokens: 110, 'input-tokens': 100, 'output-tokens': 10, 'cached-tokens': 80 },
    })
    const anthropic = {
      usage: { input_tokens: 15, output_tokens: 10, cache_read_input_tokens: 80, cache_creation_input_tokens: 5 },
    }
    expect(read('application/json', JSON.stringify(anthropic))).toEqual({
      ...{ tokens: 30, 'input-tokens': 20, 'output-tokens': 10, 'cached-tokens': 80 },
    })
    const [a, b] = [openai, anthropic].map(({ usage }) => weighed(usageIn({ usage })!, { cached: 0.1, output: 5 }))
    expect([a, b]).toEqual([78, 78])
  })

  test('no response that lacks it, is no JSON, or is larger than what is kept', () => {
    expect(read('application/json', '{}')).toBeUndefined()
    expect(read('application/json', '{"usage":')).toBeUndefined()
    expect(read('application/json', '{"usage":{"total_tokens":-5}}')).toBeUndefined()
    const huge = JSON.stringify({ text: 'x'.repeat(2_000_000), usage: { total_tokens: 1 } })
    expect(read('application/json', huge, undefined, 65_536)).toBeUndefined()
    expect(read('text/event-stream', `data: ${'x'.repeat(1_000_000)}"usage"\n`, undefined, 65_536)).toBeUndefined()
  })
})
