import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createLog } from '../../log/create-log.ts'
import { styleFor } from './style.ts'
import { safe, safeJson, safeLine } from './text.ts'

const hostile = 'a\u001b[2J\u009b31m\u202e\u2066\u200f\u007f\nFAKE'
const steers = (text: string): boolean =>
  [...text].some((unit) => /\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u.test(unit))

describe('text from outside', () => {
  it('steers no terminal, and breaks no line', () => {
    expect(steers(safe(hostile))).toBe(false)
  })

  it('is the same value in JSON, with nothing that steers a terminal', () => {
    const text = safeJson({ [hostile]: hostile })
    expect(steers(text)).toBe(false)
    expect(JSON.parse(text)).toEqual({ [hostile]: hostile })
  })

  it('is made visible in a line that was not made safe, and our own colours and line breaks stay', () => {
    const style = styleFor(true)
    const own = `${style.bad('x')}${style.faint('y')}${style.strong('z')}\n${style.accent('w')}`
    expect(safeLine(own)).toBe(own)
    expect(safeLine('\u001b[2J\u009b31m\u202e\u001b[8m')).toBe('\\u001b[2J\\u009b31m\\u202e\\u001b[8m')
  })

  it('is escaped in the log, whose lines stay JSON', () => {
    let line = ''
    const sink = new Writable({
      write(chunk, _, done) {
        line += chunk
        done()
      },
    })
    createLog('info', sink).info({ key: hostile }, hostile)
    expect(steers(line.trimEnd())).toBe(false)
    expect(JSON.parse(line)).toMatchObject({ key: hostile, msg: hostile })
  })
})
