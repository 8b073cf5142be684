import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { usageReader } from './usage-reader.ts'

function read(type: string, body: string | Buffer, encoding?: string, size = 7) {
  const reader = usageReader(type, encoding)
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += size) reader.read(bytes.subarray(at, at + size))
  return reader.usage()
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

  test('no response that lacks it, is no JSON, or is larger than what is kept', () => {
    expect(read('application/json', '{}')).toBeUndefined()
    expect(read('application/json', '{"usage":')).toBeUndefined()
    expect(read('application/json', '{"usage":{"total_tokens":-5}}')).toBeUndefined()
    const huge = JSON.stringify({ text: 'x'.repeat(2_000_000), usage: { total_tokens: 1 } })
    expect(read('application/json', huge, undefined, 65_536)).toBeUndefined()
    expect(read('text/event-stream', `data: ${'x'.repeat(1_000_000)}"usage"\n`, undefined, 65_536)).toBeUndefined()
  })
})
